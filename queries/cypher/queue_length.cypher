// How much work is queued on each stream: launched and not begun, as each launch and each begin leaves it.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: launches and begins in it count, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param full INTEGER length from which on a queue counts as full, 1..1000000, default 1024
// @column rank INTEGER rank of the process
// @column stream INTEGER? id of the stream
// @column count INTEGER number of launches and begins
// @column mean FLOAT mean length over these
// @column max INTEGER greatest length
// @column std FLOAT standard deviation of the sample, 0 for one
// @column min INTEGER least length; below 0 where work begins before its call
// @column p25 FLOAT a quarter of the lengths are no greater
// @column median FLOAT half of the lengths are no greater
// @column p75 FLOAT three quarters of the lengths are no greater
// @column full_count INTEGER number of launches and begins that leave the queue full
// @column full_ns INTEGER how long the queue is full, ns
// @column full_share FLOAT the same as a share of the window, 0..1
// @column device INTEGER? index of the GPU
// Order: rank, device, then stream.
// Empty when: no GPU work in the window has a call of its own; work of graphs has none.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the run and its launches once.

MATCH (e:GpuWork {run: $run})
WHERE e.kernel_type IS NOT NULL AND e.queue_at_launch IS NOT NULL AND ($rank IS NULL OR e.rank = $rank)
MATCH (call:Event)-[:LAUNCHED]->(e)
UNWIND [{at_ns: call.start_ns, length: e.queue_at_launch, begins: 0},
  {at_ns: e.start_ns, length: e.queue_at_start, begins: 1}] AS point
WITH e.rank AS rank, e.lane AS lane, point.at_ns AS at_ns, point.length AS length, point.begins AS begins
WHERE at_ns >= $start_ns AND at_ns < $end_ns
WITH rank, lane, count(*) AS count, avg(length) AS mean, max(length) AS max, stDev(length) AS std, min(length) AS min,
  percentileCont(length, 0.25) AS p25, percentileCont(length, 0.5) AS median, percentileCont(length, 0.75) AS p75,
  sum(CASE WHEN length >= $full THEN 1 ELSE 0 END) AS full_count
CALL (lane, max) {
  // Only a queue that is ever full is read again.
  WITH lane WHERE max >= $full
  MATCH (e:GpuWork {run: $run})
  WHERE e.kernel_type IS NOT NULL AND e.queue_at_launch IS NOT NULL AND e.lane = lane
  MATCH (call:Event)-[:LAUNCHED]->(e)
  UNWIND [[call.start_ns, 0, e.queue_at_launch], [e.start_ns, 1, e.queue_at_start]] AS point
  WITH point WHERE point[0] >= $start_ns AND point[0] < $end_ns
  WITH point ORDER BY point[0], point[1], point[2] * (1 - 2 * point[1])
  WITH collect(point) AS points
  UNWIND range(0, size(points) - 2) AS k
  WITH points[k] AS point, points[k + 1] AS next WHERE point[2] >= $full
  RETURN sum(next[0] - point[0]) AS full_ns
}
MATCH (l:Lane {run: $run, lane: lane})
RETURN rank, l.stream AS stream, count, mean, max, std, min, p25, median, p75, full_count, full_ns,
  toFloat(full_ns) / ($end_ns - $start_ns) AS full_share, l.device AS device
ORDER BY rank, device, stream
