// The bandwidth of copies and memsets by kind: what those that run at the same time move together.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: what begins in it counts, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @column rank INTEGER rank of the process
// @column copy_kind STRING what they do, such as `Memcpy HtoD`
// @column samples INTEGER number of begins and ends that leave some copy of the kind running
// @column mean FLOAT? mean bandwidth over these, B/s
// @column std FLOAT? standard deviation of the sample, 0 for one, B/s
// @column min INTEGER? least, B/s
// @column p25 FLOAT? a quarter of the samples are no greater, B/s
// @column median FLOAT? half of the samples are no greater, B/s
// @column p75 FLOAT? three quarters of the samples are no greater, B/s
// @column max INTEGER? greatest, B/s
// @column count INTEGER number of copies
// @column duration_ns INTEGER all their durations, ns
// @column bytes INTEGER? bytes that they move, null where none states it, B
// @column unsized INTEGER number of copies whose bandwidth neither the file nor size and duration say
// Order: rank, then kind.
// Empty when: no copy or memset begins in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the copies of the run once.

MATCH (e:GpuWork {run: $run, kernel_type: 'memory'})
WHERE e.copy_kind IS NOT NULL AND e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
UNWIND [[e.bandwidth_at_start, 1], [e.bandwidth_at_end, 0]] AS sample
WITH e, sample[1] AS begins, CASE WHEN sample[0] > 0 THEN sample[0] END AS rate
WITH e.rank AS rank, e.copy_kind AS copy_kind, count(rate) AS samples, avg(rate) AS mean, stDev(rate) AS std,
  min(rate) AS min, percentileCont(rate, 0.25) AS p25, percentileCont(rate, 0.5) AS median,
  percentileCont(rate, 0.75) AS p75, max(rate) AS max, sum(begins) AS count, sum(begins * e.duration_ns) AS duration_ns,
  sum(begins * e.bytes) AS sum_bytes, count(e.bytes) AS sized,
  sum(CASE WHEN begins = 1 AND e.bandwidth_at_start IS NULL THEN 1 ELSE 0 END) AS unsized
RETURN rank, copy_kind, samples, mean, CASE samples WHEN 0 THEN null ELSE std END AS std, min, p25, median, p75, max,
  count, duration_ns, CASE WHEN sized > 0 THEN sum_bytes END AS bytes, unsized
ORDER BY rank, copy_kind
