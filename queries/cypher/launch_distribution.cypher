// How many launches take how long: the call, the GPU work, and the delay between, in steps that double.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @column rank INTEGER rank of the process
// @column measure STRING `call`, `work` or `delay`
// @column from_ns INTEGER least time of the step: 0, or a power of two µs, ns
// @column to_ns INTEGER time below which it lies, ns
// @column count INTEGER number of launches
// Order: rank, measure, then time.
// Empty when: no GPU work starts by a recorded call.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads all GPU work of the run with its calls.

// @include launched_work
UNWIND [{measure: 'call', ns: cpu_duration_ns}, {measure: 'work', ns: gpu_duration_ns},
  {measure: 'delay', ns: launch_delay_ns}] AS one
WITH k.rank AS rank, one.measure AS measure, CASE
    WHEN one.ns < 1000 THEN 0
    ELSE 1 + toInteger(log(one.ns / 1000) / log(2) + 1e-9)
  END AS step, count(*) AS count
RETURN rank, measure, CASE step WHEN 0 THEN 0 ELSE toInteger(1000 * 2 ^ (step - 1)) END AS from_ns,
  toInteger(1000 * 2 ^ step) AS to_ns, count
ORDER BY rank, measure, from_ns
