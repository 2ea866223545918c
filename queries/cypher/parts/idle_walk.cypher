// Back from the work `e` that ends an idle time, which begins at `begins_ns`, the segments `s` that it waits for, over
// the binding dependencies inside. Of an event that is cut, its first piece starts.
CALL (e) {
  WITH e WHERE e:Segment
  RETURN e AS first
UNION ALL
  WITH e WHERE NOT e:Segment
  MATCH (piece:Segment)-[:PART_OF]->(e)
  RETURN piece AS first ORDER BY piece.start_ns, piece.end_ns LIMIT 1
}
WITH e, first, CASE WHEN begins_ns < $start_ns THEN $start_ns ELSE begins_ns END AS since_ns,
  CASE WHEN e.start_ns > $end_ns THEN $end_ns ELSE e.start_ns END AS until_ns
MATCH p = (first)<-[:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD*0..]-(s)
WHERE all(d IN relationships(p) WHERE d.binding AND endNode(d).start_ns > since_ns)
OPTIONAL MATCH (s)<-[lag:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD WHERE lag.binding]-()
// Two stretches belong to a segment: the lag between its cause and its start, and itself.
WITH e, s, lag, since_ns, until_ns,
  [s.start_ns - coalesce(lag.gap_ns, 0), s.start_ns, CASE s WHEN first THEN s.start_ns ELSE s.end_ns END] AS times
WITH e, s, lag,
  [at IN times | CASE WHEN at < since_ns THEN since_ns WHEN at > until_ns THEN until_ns ELSE at END] AS times
UNWIND [one IN [[true, times[0], times[1]], [false, times[1], times[2]]] WHERE one[2] > one[1]] AS stretch
WITH e, s, lag, stretch[0] AS is_lag, stretch[1] AS begin_ns, stretch[2] - stretch[1] AS idle_ns,
  CASE WHEN stretch[0] THEN coalesce(lag.gap_name, 'unknown') ELSE s.name END AS name,
  CASE WHEN stretch[0] THEN 'gap' ELSE s.category END AS category
