// What the next work of idle GPUs waits for and when, from the start of the window on.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param loading STRING beginnings of the names of what loads data, one a line
// @column rank INTEGER rank whose GPUs are idle
// @column cause_rank INTEGER rank on which the cause goes on
// @column cause STRING name of the event that goes on meanwhile, or of the gap
// @column category STRING Kineto category of the event, or `gap`
// @column loads BOOLEAN whether it goes on inside what loads data
// @column evidence STRING `recorded` or `inferred`: of a gap that of the dependency whose lag it is
// @column confidence FLOAT how sure that is, 0..1
// @column begin_ns LIST of each stretch: begin, ns
// @column end_ns LIST of each stretch: end, ns
// Empty when: no GPU is idle before any of its work.
// Cost: walks back over the dependencies inside each idle time; lists instead of rows.

MATCH (e:Event {run: $run})
WHERE e.kernel_type IS NOT NULL AND e.start_ns > $start_ns AND ($rank IS NULL OR e.rank = $rank)
// Before its first work a rank is idle since the window began.
WITH e, e.start_ns - coalesce(e.idle_ns, e.start_ns - $start_ns) AS begins_ns
WHERE begins_ns < e.start_ns AND begins_ns < $end_ns
// @include idle_walk
WITH e.rank AS rank, s.rank AS cause_rank, name AS cause, category, s.frame AS frame,
  CASE WHEN is_lag THEN coalesce(lag.evidence, 'inferred') ELSE 'recorded' END AS evidence,
  CASE WHEN is_lag THEN coalesce(lag.confidence, 0.0) ELSE 1.0 END AS confidence,
  collect(begin_ns) AS begin_ns, collect(begin_ns + idle_ns) AS end_ns
RETURN rank, cause_rank, cause, category,
  EXISTS {
    MATCH (:Frame {run: $run, frame: frame})-[:CALLED_FROM*0..]->(f:Frame)
    WHERE any(beginning IN split($loading, '\n') WHERE f.name STARTS WITH beginning)
  } AS loads, evidence, confidence, begin_ns, end_ns
ORDER BY rank, cause, category, cause_rank, frame
