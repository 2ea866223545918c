// How much of the time in which GPUs compute is work whose FLOPs are known, by step.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: work that begins in it counts, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @column rank INTEGER rank of the process
// @column step INTEGER? number of the step in which the work was launched, null where it lies in none
// @column device INTEGER? GPU index
// @column computing_ns INTEGER durations of kernels that compute, overlapping ones added, ns
// @column known_ns INTEGER how much of that belongs to operators whose FLOPs are known, ns
// @column owned_ns INTEGER how much of it belongs to operators at all, ns
// @column communication_ns INTEGER durations of communication, overlapping ones added, ns
// Order: rank, step, then device.
// Empty when: no GPU work begins in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the window once.

MATCH (e:GpuWork {run: $run})
WHERE e.kernel_type IS NOT NULL AND e.start_ns >= $start_ns AND e.start_ns < $end_ns
  AND ($rank IS NULL OR e.rank = $rank)
OPTIONAL MATCH (e)-[:WORK_OF]->(o:Event)
WITH e.lane AS lane, e.step AS step, e.kernel_type AS kernel_type, o IS NOT NULL AS owned,
  o.flops IS NOT NULL AS known, sum(e.end_ns - e.start_ns) AS spent_ns
MATCH (l:Lane {run: $run, lane: lane})
WITH l.rank AS rank, step, l.device AS device,
  sum(CASE kernel_type WHEN 'computation' THEN spent_ns ELSE 0 END) AS computing_ns,
  sum(CASE WHEN kernel_type = 'computation' AND known THEN spent_ns ELSE 0 END) AS known_ns,
  sum(CASE WHEN kernel_type = 'computation' AND owned THEN spent_ns ELSE 0 END) AS owned_ns,
  sum(CASE kernel_type WHEN 'communication' THEN spent_ns ELSE 0 END) AS communication_ns
RETURN rank, step, device, computing_ns, known_ns, owned_ns, communication_ns
ORDER BY rank, step, device
