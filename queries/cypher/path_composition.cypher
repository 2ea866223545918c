// What a window's critical path is made of, by category, gaps included.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @column category STRING Kineto category, or `gap`
// @column duration_ns INTEGER time on the path, ns
// @column share FLOAT share of the path's length, 0..1
// @column count INTEGER distinct events on the path, 0 for gaps
// Order: duration, longest first, then category.
// Cost: reads the segments on the path once.

// @include walk
MATCH (c:Chain {run: $run, chain: exit.chain})
WITH exit, c.rank AS rank
MATCH (s:Segment {run: $run, chain: exit.chain})
WHERE s.start_ns < exit.exit_ns AND s.end_ns > $start_ns
  // Work that takes time: what is no event has no place in the file.
  AND s.end_ns - s.start_ns > 0 AND s.source_index IS NOT NULL
WITH rank, s.category AS category, count(DISTINCT s.source_index) AS count,
  sum(
    // @include clipped_length
  ) AS duration_ns
WITH category, sum(duration_ns) AS duration_ns, sum(count) AS count
WITH collect({category: category, duration_ns: duration_ns, count: count}) AS events
// The path tiles the window: what no event explains is gap.
WITH events + [{category: 'gap', count: 0,
  duration_ns: $end_ns - $start_ns - reduce(total = 0, row IN events | total + row.duration_ns)}] AS rows
UNWIND rows AS row
WITH row WHERE row.duration_ns > 0
RETURN row.category AS category, row.duration_ns AS duration_ns,
  toFloat(row.duration_ns) / ($end_ns - $start_ns) AS share, row.count AS count
ORDER BY duration_ns DESC, category
