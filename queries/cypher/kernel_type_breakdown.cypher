// How long GPU work of each type runs, alone and overlapping work of other types.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @column rank INTEGER rank of the process
// @column kernel_type STRING types that run at the same time, such as `computation overlapping memory`
// @column duration_ns INTEGER how long exactly these run, ns
// @column share FLOAT duration as a share of the time in which any GPU work of the rank runs, 0..1
// Order: rank, then duration, longest first, then types.
// Empty when: no GPU work lies in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the window once.

// @include gpu_work
WITH e.rank AS rank, e.kernel_type AS kernel_type, [n IN [
    e.busy_ns, e.type_busy_ns, e.busy_without_computation_ns, e.busy_without_communication_ns,
    e.busy_without_memory_ns] |
    // @include clipped_stretch
  ] AS added
// a, b, c: computation, communication, memory; two letters: time in which one or the other runs.
WITH rank, sum(added[0]) AS abc, sum(added[2]) AS bc, sum(added[3]) AS ac, sum(added[4]) AS ab,
  sum(CASE kernel_type WHEN 'computation' THEN added[1] ELSE 0 END) AS a,
  sum(CASE kernel_type WHEN 'communication' THEN added[1] ELSE 0 END) AS b,
  sum(CASE kernel_type WHEN 'memory' THEN added[1] ELSE 0 END) AS c
WITH rank, abc, a, b, c, ab, ac, bc, a + b + c - ab - ac - bc + abc AS all_three
UNWIND [
  [['computation'], abc - bc], [['communication'], abc - ac], [['memory'], abc - ab],
  [['computation', 'communication'], a + b - ab - all_three], [['computation', 'memory'], a + c - ac - all_three],
  [['communication', 'memory'], b + c - bc - all_three], [['computation', 'communication', 'memory'], all_three]
] AS row
WITH rank, abc, row[0] AS types, row[1] AS duration_ns WHERE duration_ns > 0
RETURN rank, reduce(text = head(types), one IN tail(types) | text + ' overlapping ' + one) AS kernel_type, duration_ns,
  toFloat(duration_ns) / abc AS share
ORDER BY rank, duration_ns DESC, kernel_type
