// When autograd has each gradient of a parameter, with its shape where that is recorded.
// @param run STRING name of the run
// @param rank INTEGER? rank of the process, null for all
// @param accumulates STRING name of the operators that take over a gradient
// @column rank INTEGER rank of the process
// @column step INTEGER? number of the step that they run in
// @column ends_ns LIST of each, by time: when it ends, ns
// @column shapes LIST of each: shapes of its inputs as written, empty where they are not recorded
// Order: rank, then step.
// Empty when: no backward pass is recorded.
// Cost: reads the operators of the run once; lists instead of rows.

MATCH (e:Event:CpuOp {run: $run}) WHERE e.name = $accumulates AND ($rank IS NULL OR e.rank = $rank)
WITH e ORDER BY e.end_ns, e.source_index
RETURN e.rank AS rank, e.step AS step, collect(e.end_ns) AS ends_ns, collect(coalesce(e.shapes, '')) AS shapes
ORDER BY rank, step
