// Annotations in which parameters are gathered or taken over, with the first work that each of them launched.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: what begins in it counts, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param marks STRING beginning of their names
// @column rank INTEGER rank of the process
// @column name STRING name of the annotation
// @column start_ns INTEGER its start, ns
// @column end_ns INTEGER its end, ns
// @column use_ns INTEGER? start of the first GPU work launched in it, ns
// @column ready_ns INTEGER? when the stream of that work had nothing else left and it was launched, ns
// @column operator_ns LIST starts of the operators directly in it, ns
// Order: rank, then start.
// Empty when: no such annotation begins in the window.
// Cost: reads the annotations of the window, and what runs in those of these names.

// Frames are few, and tell at once that there is none.
WITH EXISTS { MATCH (f:Frame {run: $run}) WHERE f.frame >= 0 AND f.name STARTS WITH $marks } AS may_be
WHERE may_be
MATCH (a:Event:Annotation {run: $run})
WHERE a.name STARTS WITH $marks AND a.start_ns >= $start_ns AND a.start_ns < $end_ns
  AND ($rank IS NULL OR a.rank = $rank)
CALL (a) {
  OPTIONAL MATCH (a)<-[:CHILD_OF]-+(by:Event)-[:LAUNCHED]->(k:Event)
  RETURN by, k ORDER BY k.start_ns, k.source_index LIMIT 1
}
CALL (a) {
  OPTIONAL MATCH (operator:CpuOp)-[:CHILD_OF]->(a)
  WITH operator ORDER BY operator.start_ns
  RETURN collect(operator.start_ns) AS operator_ns
}
// @include work_ready
RETURN a.rank AS rank, a.name AS name, a.start_ns AS start_ns, a.end_ns AS end_ns, k.start_ns AS use_ns, ready_ns,
  operator_ns
ORDER BY rank, start_ns, name
