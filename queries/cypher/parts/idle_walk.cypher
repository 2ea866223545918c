// Back from the work `e` that ends an idle time, which begins at `begins_ns`, the segments `s` that it waits for, over
// the binding dependencies inside. Of an event that is cut, its first piece starts.
WITH e, begins_ns, CASE WHEN e:Segment THEN e ELSE head(COLLECT {
  MATCH (piece:Segment)-[:PART_OF]->(e) RETURN piece ORDER BY piece.start_ns, piece.end_ns LIMIT 1
}) END AS first
WITH e, first, CASE WHEN begins_ns < $start_ns THEN $start_ns ELSE begins_ns END AS since_ns,
  CASE WHEN e.start_ns > $end_ns THEN $end_ns ELSE e.start_ns END AS until_ns
MATCH p = (first)<-[:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD*1..]-(cause)
WHERE all(d IN relationships(p) WHERE d.binding AND endNode(d).start_ns > since_ns)
WITH e, cause, last(relationships(p)) AS lag, since_ns, until_ns
WITH e, cause, endNode(lag) AS effect, lag, since_ns, until_ns
// Two stretches belong to a dependency: the lag before its effect starts, and its cause.
UNWIND [
  [effect, true, effect.start_ns - coalesce(lag.gap_ns, 0), effect.start_ns],
  [cause, false, cause.start_ns, cause.end_ns]
] AS stretch
WITH e, lag, stretch[0] AS s, stretch[1] AS is_lag,
  CASE WHEN stretch[2] < since_ns THEN since_ns ELSE stretch[2] END AS begin_ns,
  CASE WHEN stretch[3] > until_ns THEN until_ns ELSE stretch[3] END AS stop_ns
WHERE stop_ns > begin_ns
WITH e, s, lag, is_lag, begin_ns, stop_ns - begin_ns AS idle_ns,
  CASE WHEN is_lag THEN coalesce(lag.gap_name, 'unknown') ELSE s.name END AS name,
  CASE WHEN is_lag THEN 'gap' ELSE s.category END AS category
