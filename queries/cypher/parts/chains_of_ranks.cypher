CALL (own) {
  // `chain >= 0` lets the index on (run, chain) find the chains of the run.
  MATCH (c:Chain {run: $run}) WHERE c.chain >= 0
  WITH c, head([one IN own WHERE one.rank = c.rank]) AS step
  WITH c, coalesce(step.start_ns, $start_ns) AS start_ns, coalesce(step.end_ns, $end_ns) AS end_ns
  WHERE c.start_ns < end_ns AND c.end_ns > start_ns
  RETURN c, start_ns, end_ns
}
