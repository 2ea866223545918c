// The GPU work in the window: `kernel_type` is in an index that holds GPU work alone.
MATCH (e:Event {run: $run})
WHERE e.kernel_type IS NOT NULL AND e.start_ns < $end_ns AND e.end_ns > $start_ns
  AND ($rank IS NULL OR e.rank = $rank)
