// Whether the window is that of the whole run: for it frames know how many of their events are on the path.
MATCH (r:Run {name: $run})
WITH *, r.window_start_ns = $start_ns AND r.window_end_ns = $end_ns AND r.end_chain = $chain AS is_whole
