// Where in the call stacks the time goes in which GPUs are idle: the tree of frames, with the idle time in each.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param least_ns INTEGER shortest idle time that is explained, ns, 1..1000000000000, default 1
// @column frame INTEGER frame id
// @column parent INTEGER? id of the frame that called it, null for the root of a lane
// @column depth INTEGER number of calls between the root and it
// @column rank INTEGER rank of the process
// @column name STRING name of the events, of the lane or of the gap
// @column category STRING Kineto category, `thread` or `stream` for a lane, `gap` for a gap
// @column duration_ns INTEGER idle time of GPUs in it itself, not in what it called, ns
// @column lag STRING? name of the gap before it, null for its own time
// Order: frame, a parent before what it called; then the lag, none last.
// Empty when: no GPU is idle between two activities in the window.
// Cost: walks back over the dependencies inside each idle time that is long enough.

// @include idle_ends
// @include idle_walk
WITH s.frame AS frame, CASE WHEN is_lag THEN name END AS lag, sum(idle_ns) AS duration_ns
// @include with_callers
