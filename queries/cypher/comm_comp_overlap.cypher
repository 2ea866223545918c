// How much of each rank's communication on GPUs runs while something computes.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @column rank INTEGER rank of the process
// @column communication_ns INTEGER time in which communication runs, overlapping ones counted once, ns
// @column overlap_ns INTEGER how much of that computation runs, too, ns
// @column overlap_share FLOAT overlap as a share of the communication, 0..1
// @column exposed_ns INTEGER how much of the communication no computation hides, ns
// @column computing_ns INTEGER time in which computation runs, overlapping ones counted once, ns
// @column overlap_efficiency FLOAT? overlap as a share of the shorter of both, the most there can be, 0..1
// @column lacks STRING? what must be known to read it: of one file of several nobody can tell waits for other ranks
// Order: rank.
// Empty when: no communication runs on a GPU in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the window once.

// @include gpu_work
WITH e.rank AS rank, e.kernel_type AS kernel_type, [n IN [e.type_busy_ns, e.busy_without_memory_ns] |
    // @include clipped_stretch
  ] AS added
WITH rank, sum(added[1]) AS either_ns,
  sum(CASE kernel_type WHEN 'computation' THEN added[0] ELSE 0 END) AS compute_ns,
  sum(CASE kernel_type WHEN 'communication' THEN added[0] ELSE 0 END) AS communication_ns
WITH rank, communication_ns, compute_ns, communication_ns + compute_ns - either_ns AS overlap_ns,
  CASE WHEN compute_ns < communication_ns THEN compute_ns ELSE communication_ns END AS shorter_ns
WHERE communication_ns > 0
RETURN rank, communication_ns, overlap_ns, toFloat(overlap_ns) / communication_ns AS overlap_share,
  communication_ns - overlap_ns AS exposed_ns, compute_ns AS computing_ns,
  CASE WHEN shorter_ns > 0 THEN toFloat(overlap_ns) / shorter_ns END AS overlap_efficiency,
  CASE COUNT { (:Trace {run: $run}) } WHEN 1 THEN
    'Waits for other ranks are inside, which one file cannot tell: give the files of all ranks.'
  END AS lacks
ORDER BY rank
