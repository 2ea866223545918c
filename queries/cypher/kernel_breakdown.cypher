// The kernels, copies and memsets of each rank by name: how many, and how their durations are distributed.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: what begins in it counts, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param top INTEGER names listed for each rank and type, the others are one row `others`, 1..10000, default 1000
// @column rank INTEGER rank of the process
// @column kernel_type STRING `computation`, `communication` or `memory`
// @column name STRING name of the kernels, or `others`
// @column count INTEGER number of kernels
// @column sum_ns INTEGER all their durations, ns
// @column mean_ns FLOAT mean duration, ns
// @column std_ns FLOAT? standard deviation of the sample, 0 for one kernel; null for others, ns
// @column min_ns INTEGER shortest, ns
// @column max_ns INTEGER longest, ns
// @column median_ns FLOAT? half of them take no longer; null for others, ns
// @column p90_ns FLOAT? nine in ten take no longer; null for others, ns
// @column p99_ns FLOAT? 99 of 100 take no longer; null for others, ns
// @column share FLOAT sum as a share of that of all GPU work of the rank in the window, 0..1
// @column names INTEGER number of names in the row
// Order: rank, type, then sum, longest first, others last, then name.
// Empty when: no GPU work begins in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the window once.

MATCH (e:GpuWork {run: $run})
WHERE e.kernel_type IS NOT NULL AND e.start_ns >= $start_ns AND e.start_ns < $end_ns
  AND ($rank IS NULL OR e.rank = $rank)
WITH e.rank AS rank, e.kernel_type AS kernel_type, e.name AS name, count(*) AS count, sum(e.duration_ns) AS sum_ns,
  avg(e.duration_ns) AS mean_ns, stDev(e.duration_ns) AS std_ns, min(e.duration_ns) AS min_ns,
  max(e.duration_ns) AS max_ns, percentileCont(e.duration_ns, 0.5) AS median_ns,
  percentileCont(e.duration_ns, 0.9) AS p90_ns, percentileCont(e.duration_ns, 0.99) AS p99_ns
ORDER BY rank, kernel_type, sum_ns DESC, name
WITH rank, kernel_type, sum(sum_ns) AS type_ns, collect({name: name, count: count, sum_ns: sum_ns, mean_ns: mean_ns,
  std_ns: std_ns, min_ns: min_ns, max_ns: max_ns, median_ns: median_ns, p90_ns: p90_ns, p99_ns: p99_ns}) AS kernels
WITH rank, sum(type_ns) AS rank_ns, collect({kernel_type: kernel_type, kernels: kernels}) AS types
UNWIND types AS type
WITH rank, rank_ns, type.kernel_type AS kernel_type, type.kernels[..$top] AS listed, type.kernels[$top..] AS rest
CALL (listed, rest) {
  UNWIND listed AS one
  RETURN one, 1 AS names
UNION ALL
  WITH rest WHERE size(rest) > 0
  UNWIND rest AS one
  WITH count(*) AS names, sum(one.count) AS count, sum(one.sum_ns) AS sum_ns, min(one.min_ns) AS min_ns,
    max(one.max_ns) AS max_ns
  WHERE names > 0
  RETURN {name: 'others', count: count, sum_ns: sum_ns, mean_ns: toFloat(sum_ns) / count, min_ns: min_ns,
    max_ns: max_ns, others: true} AS one, names
}
// A count is a new row: any other carries the lists, and the server counts them in each row that it sorts.
WITH rank, rank_ns, kernel_type, one, names, count(*) AS rows
RETURN rank, kernel_type, one.name AS name, one.count AS count, one.sum_ns AS sum_ns, one.mean_ns AS mean_ns,
  one.std_ns AS std_ns, one.min_ns AS min_ns, one.max_ns AS max_ns, one.median_ns AS median_ns, one.p90_ns AS p90_ns,
  one.p99_ns AS p99_ns, CASE rank_ns WHEN 0 THEN 0.0 ELSE toFloat(one.sum_ns) / rank_ns END AS share, names
ORDER BY rank, kernel_type, one.others IS NOT NULL, sum_ns DESC, name
