// When the stream of the GPU work `k` had nothing else left and the call `by` had launched it: `ready_ns`. A stream has
// nothing left from the end of the work before on; before its first work that is not known.
CALL (k, by) {
  WITH k, by, coalesce(k.start_ns - k.stream_idle_ns, by.start_ns, k.start_ns) AS free_ns
  RETURN CASE WHEN by.start_ns > free_ns THEN by.start_ns ELSE free_ns END AS ready_ns
}
