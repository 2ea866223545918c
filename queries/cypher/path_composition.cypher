// What a window's critical path is made of, by category, gaps included.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the walk starts from: the window's sink
// @column category STRING Kineto category, or `gap`
// @column duration_ns INTEGER time on the path, ns
// @column share FLOAT share of the path's length, 0..1
// @column count INTEGER distinct events on the path, 0 for gaps
// Order: duration, longest first, then category.
// Cost: reads all events for the path of the whole run, else the segments on the path once.

// The time on the path of the whole run is stored with its events; another path is walked.
WITH EXISTS { MATCH (:Run {name: $run, window_start_ns: $start_ns, window_end_ns: $end_ns}) }
  AND coalesce(head(COLLECT {
    MATCH (sink:Segment {run: $run, chain: $chain}) WHERE sink.start_ns < $end_ns
    RETURN sink.end_ns = $end_ns AND sink.on_critical_path
    ORDER BY sink.run DESC, sink.chain DESC, sink.start_ns DESC, sink.end_ns DESC LIMIT 1
  }), false) AS is_stored
CALL (is_stored) {
  MATCH (e:Event {run: $run}) WHERE is_stored AND e.path_ns > 0
  RETURN e.category AS category, sum(e.path_ns) AS duration_ns, count(*) AS count
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
  WITH s.rank AS rank, s.category AS category, s.source_index AS event,
    CASE WHEN s.end_ns > $end_ns THEN $end_ns ELSE s.end_ns END
      - CASE WHEN s.start_ns < $start_ns THEN $start_ns ELSE s.start_ns END AS length_ns
  WITH rank, category, sum(length_ns) AS duration_ns, count(DISTINCT event) AS count
  RETURN category, sum(duration_ns) AS duration_ns, sum(count) AS count
}
WITH collect({category: category, duration_ns: duration_ns, count: count}) AS events
// The path tiles the window: what no event explains is gap.
WITH events + [{category: 'gap', count: 0,
  duration_ns: $end_ns - $start_ns - reduce(total = 0, row IN events | total + row.duration_ns)}] AS rows
UNWIND rows AS row
WITH row WHERE row.duration_ns > 0
RETURN row.category AS category, row.duration_ns AS duration_ns,
  toFloat(row.duration_ns) / ($end_ns - $start_ns) AS share, row.count AS count
ORDER BY duration_ns DESC, category
