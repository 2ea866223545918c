// Launches by the call that makes them: how many are short, slow or late, and how their times are distributed.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param short_ns INTEGER a call up to this long has a short kernel if that is shorter, ns, 0..1000000000000, default 50000
// @param slow_ns INTEGER a call longer than this is slow, ns, 0..1000000000000, default 50000
// @param delay_ns INTEGER a delay longer than this is long, ns, 0..1000000000000, default 100000
// @column rank INTEGER rank of the process
// @column name STRING name of the call
// @column count INTEGER GPU activities launched by such calls
// @column short_kernels INTEGER how many take less than their call, which is not slow
// @column calls INTEGER number of such calls: that of a graph launches many activities
// @column slow_calls INTEGER how many of these are slow
// @column long_delays INTEGER how many start long after the call
// @column cpu_p50_ns FLOAT median duration of the call, ns
// @column cpu_p99_ns FLOAT 99th percentile of it, ns
// @column cpu_max_ns INTEGER longest, ns
// @column gpu_p50_ns FLOAT median duration of the GPU work, ns
// @column gpu_p99_ns FLOAT 99th percentile of it, ns
// @column gpu_max_ns INTEGER longest, ns
// @column delay_p50_ns FLOAT median from the call's end to the start of the GPU work, ns
// @column delay_p99_ns FLOAT 99th percentile of it, ns
// @column delay_max_ns INTEGER longest, ns
// Order: rank, count, largest first, then name.
// Empty when: no GPU work starts by a recorded call.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads all GPU work of the run with its calls.

// @include launched_work
WITH k.rank AS rank, call.name AS name, count(*) AS count,
  sum(CASE WHEN cpu_duration_ns <= $short_ns AND gpu_duration_ns < cpu_duration_ns THEN 1 ELSE 0 END) AS short_kernels,
  count(DISTINCT call) AS calls, count(DISTINCT CASE WHEN cpu_duration_ns > $slow_ns THEN call END) AS slow_calls,
  sum(CASE WHEN launch_delay_ns > $delay_ns THEN 1 ELSE 0 END) AS long_delays,
  percentileCont(cpu_duration_ns, 0.5) AS cpu_p50_ns, percentileCont(cpu_duration_ns, 0.99) AS cpu_p99_ns,
  max(cpu_duration_ns) AS cpu_max_ns,
  percentileCont(gpu_duration_ns, 0.5) AS gpu_p50_ns, percentileCont(gpu_duration_ns, 0.99) AS gpu_p99_ns,
  max(gpu_duration_ns) AS gpu_max_ns,
  percentileCont(launch_delay_ns, 0.5) AS delay_p50_ns, percentileCont(launch_delay_ns, 0.99) AS delay_p99_ns,
  max(launch_delay_ns) AS delay_max_ns
RETURN rank, name, count, short_kernels, calls, slow_calls, long_delays, cpu_p50_ns, cpu_p99_ns, cpu_max_ns,
  gpu_p50_ns, gpu_p99_ns, gpu_max_ns, delay_p50_ns, delay_p99_ns, delay_max_ns
ORDER BY rank, count DESC, name
