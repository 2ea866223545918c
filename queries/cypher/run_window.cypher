// The window of a whole run and the chain that its critical path ends in.
// @param run STRING name of the run
// @column start_ns INTEGER start of the window, ns
// @column end_ns INTEGER end of the window, ns
// @column chain INTEGER id of the chain that ends exactly at the window's end, by work where there is some
// Empty when: the run does not exist, or has no trace.
// Index: needs none.

MATCH (r:Run {name: $run}) WHERE r.end_chain IS NOT NULL
RETURN r.window_start_ns AS start_ns, r.window_end_ns AS end_ns, r.end_chain AS chain
