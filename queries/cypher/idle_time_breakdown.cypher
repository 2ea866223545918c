// Why each stream is idle between its GPU work, in three kinds: the host was late, the next was queued, or other.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param kernel_wait_ns INTEGER idle time below it is `kernel_wait` if queued, ns, 0..1000000000, default 30000
// @column rank INTEGER rank of the process
// @column stream INTEGER? id of the stream
// @column idle_category STRING `host_wait`: launched after the stream went idle; `kernel_wait`: shorter; or `other`
// @column idle_ns INTEGER idle time of the stream in this kind, ns
// @column idle_share FLOAT idle time as a share of all of the stream, 0..1
// @column device INTEGER? index of the GPU
// @column count INTEGER number of times that it is idle, for no time included
// @column mean_ns FLOAT mean idle time, ns
// @column std_ns FLOAT standard deviation of the sample, 0 for one, ns
// @column min_ns INTEGER shortest, ns
// @column median_ns FLOAT half of them are no longer, ns
// @column max_ns INTEGER longest, ns
// Order: rank, device, stream, then kind.
// Empty when: no stream has two activities in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the window and its launches once.

// The idle time before the first activity of a stream and after its last one is not counted.
MATCH (e:GpuWork {run: $run})
WHERE e.kernel_type IS NOT NULL AND e.stream_idle_ns IS NOT NULL AND ($rank IS NULL OR e.rank = $rank)
  AND e.start_ns > $start_ns AND e.start_ns - e.stream_idle_ns < $end_ns
OPTIONAL MATCH (call:Event)-[:LAUNCHED]->(e)
WITH e, e.start_ns - e.stream_idle_ns AS since_ns, call.start_ns AS launched_ns
WITH e.rank AS rank, e.lane AS lane, CASE
    WHEN launched_ns > since_ns THEN 'host_wait'
    WHEN e.stream_idle_ns < $kernel_wait_ns THEN 'kernel_wait'
    ELSE 'other'
  END AS idle_category,
  CASE WHEN e.start_ns > $end_ns THEN $end_ns ELSE e.start_ns END
    - CASE WHEN since_ns < $start_ns THEN $start_ns ELSE since_ns END AS idle_ns
WITH rank, lane, idle_category, sum(idle_ns) AS sum_ns, count(*) AS count, avg(idle_ns) AS mean_ns,
  stDev(idle_ns) AS std_ns, min(idle_ns) AS min_ns, percentileCont(idle_ns, 0.5) AS median_ns, max(idle_ns) AS max_ns
WITH rank, lane, sum(sum_ns) AS stream_ns, collect({idle_category: idle_category, sum_ns: sum_ns, count: count,
  mean_ns: mean_ns, std_ns: std_ns, min_ns: min_ns, median_ns: median_ns, max_ns: max_ns}) AS kinds
MATCH (l:Lane {run: $run, lane: lane})
UNWIND kinds AS one
RETURN rank, l.stream AS stream, one.idle_category AS idle_category, one.sum_ns AS idle_ns,
  CASE stream_ns WHEN 0 THEN 0.0 ELSE toFloat(one.sum_ns) / stream_ns END AS idle_share, l.device AS device,
  one.count AS count, one.mean_ns AS mean_ns, one.std_ns AS std_ns, one.min_ns AS min_ns, one.median_ns AS median_ns,
  one.max_ns AS max_ns
ORDER BY rank, device, stream, idle_category
