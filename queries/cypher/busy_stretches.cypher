// When the GPUs of each rank compute, and when they communicate: each moment once for each of both.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @column rank INTEGER rank of the process
// @column what STRING `computation` or `communication`
// @column begin_ns LIST of each stretch: start, ns
// @column end_ns LIST of each stretch: end, ns
// Empty when: nothing computes or communicates on a GPU in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the window once; lists instead of rows.

// @include gpu_work
WITH e
WHERE e.kernel_type IN ['computation', 'communication'] AND e.type_busy_ns > 0
// The rest of the work runs beside other work of its kind that began earlier.
RETURN e.rank AS rank, e.kernel_type AS what,
  collect(e.end_ns - e.type_busy_ns) AS begin_ns, collect(e.end_ns) AS end_ns
ORDER BY rank, what
