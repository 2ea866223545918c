// Counters `c` with what they measured: the call `call` that launched it, and the operators around the call,
// the innermost first. What is not attributed has no time of its own and belongs to every window.
MATCH (c:Counter {run: $run}) WHERE $rank IS NULL OR c.rank = $rank
OPTIONAL MATCH (c)-[m:MEASURED]->(e:Event)
WITH c, m, e WHERE e IS NULL OR e.start_ns >= $start_ns AND e.start_ns < $end_ns
WITH e, m.evidence AS evidence, m.confidence AS confidence, collect(c) AS counters
OPTIONAL MATCH (e)<-[:LAUNCHED]-(launch:Event)
WITH e, evidence, confidence, counters, coalesce(launch, e) AS call
CALL (call) {
  OPTIONAL MATCH path = (call)-[:CHILD_OF*]->(o:CpuOp)
  WITH o, length(path) AS depth ORDER BY depth
  RETURN collect(o) AS operators
}
UNWIND counters AS c
