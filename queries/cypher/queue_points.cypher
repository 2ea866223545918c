// How much work is queued on each stream over time, a stream a row: for drawing all of it.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: launches and begins in it count, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param limit INTEGER launches and begins listed, 1..100000000, default 10000
// @column rank INTEGER rank of the process
// @column device INTEGER? index of the GPU
// @column stream INTEGER? id of the stream
// @column lane INTEGER lane id of the stream
// @column at_ns LIST when work is launched, at the start of its call, or begins, in this order, ns
// @column begins LIST whether it begins then: 1, else 0
// @column length LIST launched and not begun since then
// Order: rank, device, then stream; of one moment launches come before begins.
// Empty when: no GPU work in the window has a call of its own; work of graphs has none.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the run and its launches once; lists instead of rows.

MATCH (e:GpuWork {run: $run})
WHERE e.kernel_type IS NOT NULL AND e.queue_at_launch IS NOT NULL AND ($rank IS NULL OR e.rank = $rank)
MATCH (call:Event)-[:LAUNCHED]->(e)
UNWIND [[call.start_ns, 0, e.queue_at_launch], [e.start_ns, 1, e.queue_at_start]] AS point
WITH e.rank AS rank, e.lane AS lane, point[0] AS at_ns, point[1] AS begins, point[2] AS length
WHERE at_ns >= $start_ns AND at_ns < $end_ns
WITH rank, lane, at_ns, begins, length ORDER BY rank, lane, at_ns, begins, length * (1 - 2 * begins)
LIMIT $limit
WITH rank, lane, collect(at_ns) AS at_ns, collect(begins) AS begins,
  collect(length) AS length
MATCH (l:Lane {run: $run, lane: lane})
RETURN rank, l.device AS device, l.stream AS stream, lane, at_ns, begins, length
ORDER BY rank, device, stream
