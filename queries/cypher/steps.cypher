// The steps of a run.
// @param run STRING name of the run
// @column rank INTEGER rank of the process
// @column number INTEGER number of the step: the N of ProfilerStep#N
// @column start_ns INTEGER start of the step's annotation, ns
// @column end_ns INTEGER end of the step's annotation, ns
// @column window_end_ns INTEGER later of that end and the end of the GPU work launched in the step, ns
// @column name STRING name of the step's annotation
// @column marker STRING what all steps of the run are counted under, such as `ProfilerStep#`
// @column type STRING? of an iteration of a server: prefill, decode, mixed or idle
// @column batch INTEGER? requests of the iteration, where its name says it
// @column tokens INTEGER? new tokens of the iteration, where its name says it
// Order: rank, then start.
// Empty when: the trace has no steps.
// Index: needs none.

MATCH (t:Step {run: $run})
RETURN t.rank AS rank, t.number AS number, t.start_ns AS start_ns, t.end_ns AS end_ns,
  t.window_end_ns AS window_end_ns, t.name AS name, t.marker AS marker, t.type AS type, t.batch AS batch,
  t.tokens AS tokens
ORDER BY rank, start_ns, number
