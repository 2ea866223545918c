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
// Cost: reads the segments on the path once, mostly from the index.

// @include walk
// @include is_whole
MATCH (s:Segment {run: $run, chain: exit.chain})
WHERE s.start_ns < exit.exit_ns AND s.end_ns > $start_ns AND s.end_ns - s.start_ns > 0 AND s.frame IS NOT NULL
// To tell events apart takes longer than all else; for the whole run frames know their number.
WITH is_whole, s.frame AS frame, count(DISTINCT CASE WHEN is_whole THEN null ELSE s.source_index END) AS count,
  sum(
    // @include clipped_length
  ) AS duration_ns
MATCH (f:Frame {run: $run, frame: frame}) WHERE f.category <> 'gap'
WITH f.category AS category, sum(duration_ns) AS duration_ns,
  sum(CASE WHEN is_whole THEN f.path_events ELSE count END) AS count
WITH collect({category: category, duration_ns: duration_ns, count: count}) AS events
// The path tiles the window: what no event explains is gap.
WITH events + [{category: 'gap', count: 0,
  duration_ns: $end_ns - $start_ns - reduce(total = 0, row IN events | total + row.duration_ns)}] AS rows
UNWIND rows AS row
WITH row WHERE row.duration_ns > 0
RETURN row.category AS category, row.duration_ns AS duration_ns,
  toFloat(row.duration_ns) / ($end_ns - $start_ns) AS share, row.count AS count
ORDER BY duration_ns DESC, category
