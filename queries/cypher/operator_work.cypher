// GPU work by operator and shapes: how long it ran, and the FLOPs and bytes that the shapes make of it.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param limit INTEGER rows listed, 1..100000, default 10000
// @column rank INTEGER rank of the process
// @column device INTEGER? GPU index
// @column name STRING? name of the operator, null for work that was launched outside of operators
// @column shapes STRING? shapes of its inputs, null where they were not recorded
// @column dtype STRING? element type in which it computes
// @column work STRING? kind of work, null where nothing is known of it
// @column copy STRING? name of the activities where they are copies
// @column calls INTEGER number of calls whose work began in the window
// @column activities INTEGER number of GPU activities
// @column gpu_ns INTEGER time of the activities, overlapping ones added, ns
// @column flops INTEGER? floating point operations of these calls, null where unknown
// @column bytes INTEGER? least traffic of these calls, null where unknown
// Order: time, longest first, then rank, device, name and shapes.
// Empty when: no GPU activity begins in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the run once.

MATCH (e:GpuWork {run: $run})
WHERE e.kernel_type IS NOT NULL AND e.start_ns >= $start_ns AND e.start_ns < $end_ns
  AND ($rank IS NULL OR e.rank = $rank)
OPTIONAL MATCH (e)-[:WORK_OF]->(o:Event)
WITH e.lane AS lane, o, CASE WHEN e:Memcpy THEN e.name END AS copy, count(*) AS activities,
  sum(e.end_ns - e.start_ns) AS gpu_ns
WITH lane, o.name AS name, o.shapes AS shapes, CASE WHEN o.work IS NOT NULL THEN o.dtype END AS dtype,
  o.work AS work, copy, count(o) AS calls, sum(activities) AS activities, sum(gpu_ns) AS gpu_ns,
  count(*) AS pairs, count(o.flops) AS known_flops, sum(o.flops) AS flops,
  count(o.moved_bytes) AS known_bytes, sum(o.moved_bytes) AS bytes
MATCH (l:Lane {run: $run}) WHERE l.lane = lane
WITH l.rank AS rank, l.device AS device, name, shapes, dtype, work, copy, sum(calls) AS calls,
  sum(activities) AS activities, sum(gpu_ns) AS gpu_ns, sum(pairs) AS pairs,
  sum(known_flops) AS known_flops, sum(flops) AS flops, sum(known_bytes) AS known_bytes, sum(bytes) AS bytes
RETURN rank, device, name, shapes, dtype, work, copy, calls, activities, gpu_ns,
  CASE known_flops WHEN pairs THEN flops END AS flops, CASE known_bytes WHEN pairs THEN bytes END AS bytes
ORDER BY gpu_ns DESC, rank, device, name, shapes, copy, dtype LIMIT $limit
