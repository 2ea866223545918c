// Where in the call stacks a window's critical path runs: the tree of frames, with the time in each.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @column frame INTEGER frame id
// @column parent INTEGER? id of the frame that called it, null for the root of a lane
// @column depth INTEGER number of calls between the root and it
// @column rank INTEGER rank of the process
// @column name STRING name of the events, of the lane or of the gap
// @column category STRING Kineto category, `thread` or `stream` for a lane, `gap` for a wait or gap
// @column duration_ns INTEGER time on the path in it itself, not in what it called, ns
// @column lag STRING? name of the gap before work of this frame, null for time in the frame
// Order: frame, a parent before what it called; then the lag, none last.
// Empty when: the run has no such chain.
// Cost: reads the segments on the path once, from the index.

// @include walk
// @include walked_chains
// Two stretches may belong to a segment: itself, and the gap before it.
CALL (c, on_gpu, exit_ns) {
  MATCH (s:Segment {run: $run, chain: c.chain})
  WHERE s.start_ns < exit_ns AND s.end_ns > $start_ns AND s.frame IS NOT NULL
  RETURN s.frame AS frame, null AS lag, sum(
    // @include clipped_length
  ) AS duration_ns
UNION ALL
  MATCH (s:Pause {run: $run, chain: c.chain})
  WHERE s.start_ns <= CASE WHEN on_gpu THEN exit_ns ELSE c.start_ns END AND s.end_ns > $start_ns
    AND CASE s.start_ns WHEN exit_ns THEN s.end_ns = exit_ns ELSE true END AND s.gap_since_ns IS NOT NULL
  WITH s.frame AS frame, s.gap_name AS lag, CASE WHEN s.start_ns > $end_ns THEN $end_ns ELSE s.start_ns END
    - CASE WHEN s.gap_since_ns < $start_ns THEN $start_ns ELSE s.gap_since_ns END AS length_ns
  WHERE length_ns > 0
  RETURN frame, lag, sum(length_ns) AS duration_ns
}
// @include with_callers
