// Idle times of GPUs that are long enough, and back from the work `e` that ends each the segments `s` that it waits
// for, over the binding dependencies inside. Of an event that is cut, its first piece starts.
MATCH (e:Event {run: $run})
WHERE e.kernel_type IS NOT NULL AND e.idle_ns >= $least_ns AND ($rank IS NULL OR e.rank = $rank)
  AND e.start_ns > $start_ns AND e.start_ns - e.idle_ns < $end_ns
CALL (e) {
  WITH e WHERE e:Segment
  RETURN e AS first
UNION ALL
  WITH e WHERE NOT e:Segment
  MATCH (piece:Segment)-[:PART_OF]->(e)
  RETURN piece AS first ORDER BY piece.start_ns, piece.end_ns LIMIT 1
}
WITH e, first, CASE WHEN e.start_ns - e.idle_ns < $start_ns THEN $start_ns ELSE e.start_ns - e.idle_ns END AS since_ns,
  CASE WHEN e.start_ns > $end_ns THEN $end_ns ELSE e.start_ns END AS until_ns
MATCH (first)((effect WHERE effect.start_ns > since_ns)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD
  WHERE d.binding]-()){0,}(s)
OPTIONAL MATCH (s)<-[lag:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD WHERE lag.binding]-()
// Two stretches belong to a segment: itself, and the lag between its cause and its start.
WITH e, s, since_ns, until_ns, [
  {is_lag: false, name: s.name, category: s.category, start_ns: s.start_ns,
    end_ns: CASE WHEN s = first THEN s.start_ns ELSE s.end_ns END},
  {is_lag: true, name: coalesce(lag.gap_name, 'unknown'), category: 'gap', start_ns: s.start_ns - coalesce(lag.gap_ns, 0),
    end_ns: s.start_ns}
] AS stretches
UNWIND stretches AS one
WITH e, s, one, CASE WHEN one.end_ns > until_ns THEN until_ns ELSE one.end_ns END
  - CASE WHEN one.start_ns < since_ns THEN since_ns ELSE one.start_ns END AS idle_ns
WHERE idle_ns > 0
