// The GPU work in the window.
MATCH (e:GpuWork {run: $run})
WHERE e.kernel_type IS NOT NULL AND e.start_ns < $end_ns AND e.end_ns > $start_ns
  AND ($rank IS NULL OR e.rank = $rank)
