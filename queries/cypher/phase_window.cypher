// The window of one phase and the chain that its critical path ends in.
// @param run STRING name of the run
// @param name STRING name of the phase
// @param occurrence INTEGER which one of its step, counted from 1
// @param rank INTEGER rank of the process, default 0 (a command: the first of the run)
// @param step INTEGER? number of the step that it lies in, null for a phase in none
// @column start_ns INTEGER start of the window, ns
// @column end_ns INTEGER end of the window, ns
// @column chain INTEGER id of the chain that ends exactly at the window's end, by work where there is some
// Empty when: the rank has no such phase.

MATCH (p:Phase {run: $run, name: $name, rank: $rank, occurrence: $occurrence})
WHERE CASE WHEN $step IS NULL THEN p.step IS NULL ELSE p.step = $step END
WITH p.start_ns AS start_ns, p.window_end_ns AS end_ns, p LIMIT 1
// What ends later than the phase is GPU work of it; else its own thread ends it, or the one that it waits for.
MATCH (l:Lane {run: $run, rank: $rank})
WHERE l.kind = 'stream' OR p.window_end_ns = p.end_ns AND l.lane IN [p.lane, p.end_lane]
WITH start_ns, end_ns, collect(l.lane) AS lanes
// @include path_end
