// Where in the call stacks the work of a window runs that is not on its critical path: the tree of frames.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @column frame INTEGER frame id
// @column parent INTEGER? id of the frame that called it, null for the root of a lane
// @column depth INTEGER number of calls between the root and it
// @column rank INTEGER rank of the process
// @column name STRING name of the events or of the lane
// @column category STRING Kineto category, `thread` or `stream` for a lane
// @column duration_ns INTEGER time off the path in it itself, not in what it called, ns
// @column lag STRING? always null: a gap off the path is nobody's work
// Order: frame, a parent before what it called.
// Empty when: all work is on the path.
// Cost: reads the segments off the path once, from the index.

// @include walk
// @include all_chains
MATCH (s:Segment {run: $run, chain: chain})
WHERE s.start_ns >= exit_ns AND s.start_ns < $end_ns AND s.end_ns > $start_ns
  AND s.end_ns - s.start_ns > 0 AND s.frame IS NOT NULL
WITH s.frame AS frame, sum(
    // @include clipped_length
  ) AS duration_ns
MATCH (f:Frame {run: $run, frame: frame}) WHERE f.category <> 'gap'
WITH frame, null AS lag, duration_ns
// @include with_callers
