// Which communication on GPUs nothing hides: by kernel, how much of it runs while its rank computes nothing.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: what begins in it counts, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param limit INTEGER rows listed, 1..10000, default 1000
// @column rank INTEGER rank of the process
// @column name STRING name of the kernels
// @column collective STRING? kind of operation, where the file states it
// @column group STRING? name of the process group, where the file states it
// @column count INTEGER number of kernels
// @column duration_ns INTEGER all their durations, waiting for other ranks included, ns
// @column exposed_ns INTEGER how much of that no computation of the rank hides, what overlaps counted once, ns
// @column exposed_share FLOAT exposed time as a share of the durations, 0..1
// @column bytes INTEGER? bytes that they state to move, B
// Order: exposed time, longest first, then rank, name, operation and group.
// Empty when: no communication runs on a GPU in the window.
// Cost: reads the GPU work of the window once.

MATCH (e:GpuWork {run: $run, kernel_type: 'communication'})
WHERE e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
WITH e.rank AS rank, e.name AS name, e.collective AS collective, e.group AS group, count(*) AS count,
  sum(e.duration_ns) AS duration_ns, sum(e.exposed_ns) AS exposed_ns, sum(e.bytes) AS sum_bytes, count(e.bytes) AS sized
RETURN rank, name, collective, group, count, duration_ns, exposed_ns,
  CASE duration_ns WHEN 0 THEN 0.0 ELSE toFloat(exposed_ns) / duration_ns END AS exposed_share,
  CASE WHEN sized > 0 THEN sum_bytes END AS bytes
ORDER BY exposed_ns DESC, rank, name, collective, group
LIMIT $limit
