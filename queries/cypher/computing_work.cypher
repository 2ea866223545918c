// What GPUs compute, by kernel and by the arithmetic of the operator around it.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: work that begins in it counts, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @column rank INTEGER rank of the process
// @column device INTEGER? GPU index
// @column name STRING name of the kernel
// @column work STRING? kind of work of the operator, null where nothing is known of it
// @column dtype STRING? element type in which that computes
// @column flops INTEGER? floating point operations of one call of it, null where unknown
// @column bytes INTEGER? least traffic of one call, null where unknown
// @column gpu_ns INTEGER time of the kernels, overlapping ones added, ns
// Order: rank, device, then time, longest first.
// Empty when: no kernel that computes begins in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the window once.

MATCH (e:GpuWork {run: $run, kernel_type: 'computation'})
WHERE e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
OPTIONAL MATCH (e)-[:WORK_OF]->(o:Event) WHERE o.work IS NOT NULL
WITH e.lane AS lane, e.name AS name, o.work AS work, o.dtype AS dtype, o.flops AS flops, o.moved_bytes AS bytes,
  sum(e.end_ns - e.start_ns) AS gpu_ns
MATCH (l:Lane {run: $run, lane: lane})
WITH l.rank AS rank, l.device AS device, name, work, dtype, flops, bytes, sum(gpu_ns) AS gpu_ns
RETURN rank, device, name, work, dtype, flops, bytes, gpu_ns
ORDER BY rank, device, gpu_ns DESC, name, work, dtype, flops, bytes
