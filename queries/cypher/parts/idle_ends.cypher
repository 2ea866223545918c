// The work `e` that ends each idle time of GPUs that is long enough, and when that idle time begins.
MATCH (e:Event {run: $run})
WHERE e.kernel_type IS NOT NULL AND e.idle_ns >= $least_ns AND ($rank IS NULL OR e.rank = $rank)
  AND e.start_ns > $start_ns AND e.start_ns - e.idle_ns < $end_ns
WITH e, e.start_ns - e.idle_ns AS begins_ns
