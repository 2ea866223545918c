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

// @include walk
MATCH (c:Chain {run: $run, chain: exit.chain})
WITH exit, c.rank AS rank
MATCH (s:Segment {run: $run, chain: exit.chain})
WHERE s.start_ns < exit.exit_ns AND s.end_ns > $start_ns
  // Work that takes time: what is no event has no place in the file.
  AND s.end_ns - s.start_ns > 0 AND s.source_index IS NOT NULL
WITH rank, s.name AS name, s.category AS category, count(DISTINCT s.source_index) AS count,
  sum(
    // @include clipped_length
  ) AS duration_ns
WITH name, category, sum(duration_ns) AS duration_ns, sum(count) AS count
// @include largest
