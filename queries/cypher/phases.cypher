// The phases of each step: forward, backward, optimizer and what else annotations or the work itself tell.
// @param run STRING name of the run
// @param rank INTEGER? rank of the process, null for all
// @column rank INTEGER rank of the process
// @column step INTEGER? number of the step that it lies in, null where it lies in none
// @column phase STRING name of the phase
// @column occurrence INTEGER of several of a name in a step, as with micro-batches, which one it is, counted from 1
// @column start_ns INTEGER start, ns
// @column end_ns INTEGER end, ns
// @column window_end_ns INTEGER later of that end and the end of the GPU work launched in the phase, ns
// @column evidence STRING `recorded` where an annotation names it, `inferred` where what ran tells it
// @column confidence FLOAT how sure it is, 0..1
// @column lane INTEGER lane id of the thread that it is a stretch of
// Order: rank, then start.
// Empty when: no annotation names a phase, and no operator of a backward pass is recorded, as in inference.

MATCH (p:Phase {run: $run}) WHERE $rank IS NULL OR p.rank = $rank
RETURN p.rank AS rank, p.step AS step, p.name AS phase, p.occurrence AS occurrence, p.start_ns AS start_ns,
  p.end_ns AS end_ns, p.window_end_ns AS window_end_ns, p.evidence AS evidence, p.confidence AS confidence,
  p.lane AS lane
ORDER BY rank, start_ns, phase
