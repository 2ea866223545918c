// The frames in which time was spent, with all that they were called from.
WITH frame, lag, sum(duration_ns) AS duration_ns WHERE duration_ns > 0
WITH collect({frame: frame, lag: lag, duration_ns: duration_ns}) AS spent
CALL (spent) {
  UNWIND spent AS one
  RETURN one.frame AS frame, one.lag AS lag, one.duration_ns AS duration_ns
UNION ALL
  UNWIND spent AS one
  WITH DISTINCT one.frame AS inner
  MATCH (:Frame {run: $run, frame: inner})-[:CALLED_FROM*]->(f:Frame)
  RETURN f.frame AS frame, null AS lag, 0 AS duration_ns
}
WITH frame, lag, sum(duration_ns) AS duration_ns
MATCH (f:Frame {run: $run, frame: frame})
RETURN frame, f.parent AS parent, f.depth AS depth, f.rank AS rank, f.name AS name,
  f.category AS category, duration_ns, lag
ORDER BY frame, lag
