// The bandwidth of copies and memsets over time, a kind a row: for drawing all of it.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: begins and ends in it count, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param limit INTEGER begins and ends listed, 1..100000000, default 10000
// @column rank INTEGER rank of the process
// @column copy_kind STRING what they do, such as `Memcpy HtoD`
// @column at_ns LIST when a copy of the kind begins or ends, in this order, ns
// @column bytes_per_s LIST what those that run since then move together, B/s
// Order: rank, then kind; of one moment ends come before begins.
// Empty when: no copy or memset of a known bandwidth begins or ends in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the copies of the run once; lists instead of rows.

MATCH (e:GpuWork {run: $run, kernel_type: 'memory'})
WHERE e.bandwidth_at_start IS NOT NULL AND ($rank IS NULL OR e.rank = $rank)
// What takes no time, as the file has it, ends when its size has moved at the bandwidth that the file states.
WITH e, CASE
    WHEN e.end_ns > e.start_ns THEN e.end_ns
    ELSE e.start_ns + 1 + toInteger(coalesce(e.bytes, 0) * (1e9 / e.bandwidth))
  END AS end_ns
UNWIND [[e.start_ns, 1, e.bandwidth_at_start], [end_ns, 0, e.bandwidth_at_end]] AS point
WITH e.rank AS rank, e.copy_kind AS copy_kind, point[0] AS at_ns, point[1] AS begins, point[2] AS bytes_per_s
WHERE at_ns >= $start_ns AND at_ns < $end_ns
WITH rank, copy_kind, at_ns, begins, bytes_per_s
ORDER BY rank, copy_kind, at_ns, begins, bytes_per_s * (2 * begins - 1)
LIMIT $limit
RETURN rank, copy_kind, collect(at_ns) AS at_ns, collect(bytes_per_s) AS bytes_per_s
ORDER BY rank, copy_kind
