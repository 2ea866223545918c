// How close a second cause comes to the one that started them, for the largest events of a window's path.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the walk starts from: the window's sink
// @param limit INTEGER rows listed, 1..10000, default 10
// @column name STRING name of the events
// @column category STRING Kineto category
// @column duration_ns INTEGER time on the path, ns
// @column count INTEGER their starts on the path that have a second cause
// @column margin_ns INTEGER? smallest of their margins: how much later the cause comes than the second-best, ns
// @column cause STRING? name of the cause at that start
// @column mechanism STRING? the rule that made its dependency
// @column second STRING? name of the second-best cause there: it leads in once the cause is that much earlier
// @column second_mechanism STRING? the rule that made its dependency
// Order: duration, longest first, then name and category.
// Empty when: the path holds gaps only.
// Cost: as hotspots, and reads the margins of the segments on the path once.

// The time on the path of the whole run is stored with its events; another path is walked.
WITH EXISTS { MATCH (:Run {name: $run, window_start_ns: $start_ns, window_end_ns: $end_ns}) }
  AND coalesce(head(COLLECT {
    MATCH (sink:Segment {run: $run, chain: $chain}) WHERE sink.start_ns < $end_ns
    RETURN sink.end_ns = $end_ns AND sink.on_critical_path
    ORDER BY sink.run DESC, sink.chain DESC, sink.start_ns DESC, sink.end_ns DESC LIMIT 1
  }), false) AS is_stored
CALL (is_stored) {
  MATCH (e:Event {run: $run}) WHERE is_stored AND e.path_ns > 0
  RETURN e.name AS name, e.category AS category, sum(e.path_ns) AS duration_ns
UNION ALL
  // The walk: from the sink's chain back over LEADS_TO; a chain on the way is left at at_ns, so its segments
  // up to there are on the path. Each chain has one incoming LEADS_TO: the hop is read from the chain it enters.
  MATCH (sink:Chain {run: $run, chain: $chain})
  MATCH (sink)((effect WHERE effect.start_ns > $start_ns)<-[:LEADS_TO]-()){0,}(link)
  WITH DISTINCT link
  MATCH (cause:Chain)-[hop:LEADS_TO]->(link) WHERE link.start_ns > $start_ns
  WITH collect({chain: cause.chain, exit_ns: hop.at_ns}) + [{chain: $chain, exit_ns: $end_ns}] AS exits
  UNWIND exits AS exit
  MATCH (c:Chain {run: $run, chain: exit.chain})
  // The segments of a chain follow each other: of those that begin by the window's start only the last is in it.
  WITH c, exit.exit_ns AS exit_ns, CASE WHEN c.start_ns > $start_ns THEN c.start_ns ELSE coalesce(head(COLLECT {
      MATCH (open:Segment {run: $run, chain: c.chain}) WHERE open.start_ns <= $start_ns
      RETURN open.start_ns ORDER BY open.run DESC, open.chain DESC, open.start_ns DESC LIMIT 1
    }), $start_ns) END AS from_ns
  WHERE NOT is_stored
  MATCH (s:Segment {run: $run, chain: c.chain})
  WHERE s.start_ns >= from_ns AND s.start_ns < exit_ns AND s.end_ns > $start_ns
    AND s.kind = 'work' AND s.end_ns > s.start_ns
  RETURN s.name AS name, s.category AS category, sum(CASE WHEN s.end_ns > $end_ns THEN $end_ns ELSE s.end_ns END
    - CASE WHEN s.start_ns < $start_ns THEN $start_ns ELSE s.start_ns END) AS duration_ns
}
WITH name, category, duration_ns ORDER BY duration_ns DESC, name, category LIMIT $limit
WITH collect({name: name, category: category, duration_ns: duration_ns}) AS listed
WITH listed, [row IN listed | row.name] AS names
CALL (names) {
  // The walk: from the sink's chain back over LEADS_TO; a chain on the way is left at at_ns, so its segments
  // up to there are on the path. Each chain has one incoming LEADS_TO: the hop is read from the chain it enters.
  MATCH (sink:Chain {run: $run, chain: $chain})
  MATCH (sink)((effect WHERE effect.start_ns > $start_ns)<-[:LEADS_TO]-()){0,}(link)
  WITH DISTINCT link
  MATCH (cause:Chain)-[hop:LEADS_TO]->(link) WHERE link.start_ns > $start_ns
  WITH collect({chain: cause.chain, exit_ns: hop.at_ns}) + [{chain: $chain, exit_ns: $end_ns}] AS exits
  UNWIND exits AS exit
  MATCH (s:Segment {run: $run, chain: exit.chain})
  // The cause of what begins before the window is not in it.
  WHERE s.start_ns > $start_ns AND s.start_ns < exit.exit_ns
  WITH s, s.margin_ns AS margin_ns WHERE margin_ns IS NOT NULL
  WITH s, margin_ns, s.name AS name WHERE name IN names AND s.kind = 'work' AND s.end_ns > s.start_ns
  WITH name, s.category AS category, count(*) AS count,
    min([margin_ns, s.start_ns, s.lane, s.end_ns, elementId(s)]) AS closest
  RETURN collect({name: name, category: category, count: count, closest: closest}) AS starts
}
UNWIND listed AS row
WITH row, head([start IN starts WHERE start.name = row.name AND start.category = row.category]) AS start
OPTIONAL MATCH (s:Segment)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD]-(before:Segment)
WHERE elementId(s) = start.closest[4]
// The binding cause, then the one that would have let it start last: lag_ns - gap_ns is that start's distance.
WITH row, start, d, before
ORDER BY d.binding DESC, d.lag_ns - d.gap_ns DESC, d.mechanism
WITH row, start, collect({name: before.name, mechanism: d.mechanism}) AS causes
RETURN row.name AS name, row.category AS category, row.duration_ns AS duration_ns,
  coalesce(start.count, 0) AS count, start.closest[0] AS margin_ns,
  causes[0].name AS cause, causes[0].mechanism AS mechanism,
  causes[1].name AS second, causes[1].mechanism AS second_mechanism
ORDER BY duration_ns DESC, name, category
