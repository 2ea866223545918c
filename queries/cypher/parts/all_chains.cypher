// All chains of the window: those on the path until when they are on it, the others until they begin.
WITH collect(exit) AS exits
CALL (exits) {
  UNWIND exits AS exit
  RETURN exit.chain AS chain, exit.exit_ns AS exit_ns
UNION ALL
  // `chain >= 0` lets the index on (run, chain) find the chains of the run.
  MATCH (c:Chain {run: $run})
  WHERE c.chain >= 0 AND c.start_ns < $end_ns AND c.end_ns > $start_ns
  RETURN c.chain AS chain, c.start_ns AS exit_ns
}
WITH chain, max(exit_ns) AS exit_ns
