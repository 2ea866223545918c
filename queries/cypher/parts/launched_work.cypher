// GPU work with the call that launched it, of calls that start in the window.
MATCH (k:GpuWork {run: $run}) WHERE k.kernel_type IS NOT NULL AND ($rank IS NULL OR k.rank = $rank)
MATCH (call)-[:LAUNCHED]->(k) WHERE call.start_ns >= $start_ns AND call.start_ns < $end_ns
WITH call, k, call.duration_ns AS cpu_duration_ns, k.duration_ns AS gpu_duration_ns,
  CASE WHEN k.start_ns > call.end_ns THEN k.start_ns - call.end_ns ELSE 0 END AS launch_delay_ns
