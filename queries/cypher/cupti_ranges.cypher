// Each range in which hardware counters were read, with what it measured: a row a counter.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param limit INTEGER rows listed, 1..1000000, default 10000
// @column rank INTEGER rank of the process
// @column source_index INTEGER position of the range in the file's traceEvents
// @column kernel STRING name of the range, usually that of the kernel
// @column counter STRING name of the counter, its metric; values are in its own unit
// @column value FLOAT what it counted
// @column call_source_index INTEGER? position of the launching call, null where the range belongs to no known one
// @column call STRING? name of that call
// @column operator_source_index INTEGER? position of the innermost operator around the call
// @column operator STRING? its name
// @column top_operator STRING? outermost operator around the call
// @column evidence STRING? how range and launch were paired
// @column confidence FLOAT? how sure that is, 0..1
// Order: rank, range and counter.
// Empty when: the run holds no hardware counters.
// Cost: reads all counters of the run once.

// @include measured_ranges
RETURN c.rank AS rank, c.source_index AS source_index, c.range AS kernel, c.name AS counter, c.value AS value,
  call.source_index AS call_source_index, call.name AS call,
  head(operators).source_index AS operator_source_index, head(operators).name AS operator,
  last(operators).name AS top_operator, evidence, confidence
ORDER BY rank, source_index, counter LIMIT $limit
