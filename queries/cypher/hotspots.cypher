// The events that determine most of a window's length, by name and category.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the walk starts from: the window's sink
// @param limit INTEGER rows listed, 1..1000000, default 10
// @column name STRING name of the events
// @column category STRING Kineto category
// @column duration_ns INTEGER time on the path, ns
// @column proportion FLOAT share of the listed rows' total, 0..1
// @column prop_in_total FLOAT share of the path's length, 0..1
// @column count INTEGER distinct events on the path
// Order: duration, longest first, then name and category.
// Empty when: the path holds gaps only.
// Cost: reads the segments on the path once.

// The walk: from the sink's chain back over LEADS_TO; a chain on the way is left at at_ns, so its segments
// up to there are on the path. Each chain has one incoming LEADS_TO: the hop is read from the chain it enters.
MATCH (sink:Chain {run: $run, chain: $chain})
MATCH (sink)((effect WHERE effect.start_ns > $start_ns)<-[:LEADS_TO]-()){0,}(link)
WITH DISTINCT link
MATCH (cause:Chain)-[hop:LEADS_TO]->(link) WHERE link.start_ns > $start_ns
WITH collect({chain: cause.chain, exit_ns: hop.at_ns}) + [{chain: $chain, exit_ns: $end_ns}] AS exits
UNWIND exits AS exit
MATCH (c:Chain {run: $run, chain: exit.chain})
WITH exit, c.rank AS rank
MATCH (s:Segment {run: $run, chain: exit.chain})
WHERE s.start_ns < exit.exit_ns AND s.end_ns > $start_ns
  // Work that takes time: what is no event has no place in the file.
  AND s.end_ns - s.start_ns > 0 AND s.source_index IS NOT NULL
WITH rank, s.name AS name, s.category AS category, count(DISTINCT s.source_index) AS count,
  sum(s.end_ns - s.start_ns
    // What is outside the window: two bounds chosen for every row would take longer.
    - CASE WHEN s.start_ns < $start_ns THEN $start_ns - s.start_ns ELSE 0 END
    - CASE WHEN s.end_ns > $end_ns THEN s.end_ns - $end_ns ELSE 0 END) AS duration_ns
WITH name, category, sum(duration_ns) AS duration_ns, sum(count) AS count
WITH name, category, duration_ns, count ORDER BY duration_ns DESC, name, category LIMIT $limit
WITH collect({name: name, category: category, duration_ns: duration_ns, count: count}) AS listed
WITH listed, reduce(total = 0, row IN listed | total + row.duration_ns) AS total
UNWIND listed AS row
RETURN row.name AS name, row.category AS category, row.duration_ns AS duration_ns,
  toFloat(row.duration_ns) / total AS proportion,
  toFloat(row.duration_ns) / ($end_ns - $start_ns) AS prop_in_total, row.count AS count
ORDER BY duration_ns DESC, name, category
