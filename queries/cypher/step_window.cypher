// The window of one step and the chain that its critical path ends in.
// @param run STRING name of the run
// @param number INTEGER number of the step
// @param rank INTEGER rank of the process, default 0 (a command: the first of the run)
// @column start_ns INTEGER start of the window, ns
// @column end_ns INTEGER end of the window, ns
// @column chain INTEGER id of the chain that ends exactly at the window's end, by work where there is some
// Empty when: the rank has no such step.

MATCH (t:Step {run: $run, number: $number, rank: $rank})
WITH t.start_ns AS start_ns, t.window_end_ns AS end_ns LIMIT 1
MATCH (l:Lane {run: $run, rank: $rank, matters: true})
WITH start_ns, end_ns, collect(l.lane) AS lanes
// @include path_end
