// What the next work of idle GPUs waits for and when, from the start of the window on.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param loading STRING beginnings of the names of what loads data, one a line
// @column rank INTEGER rank whose GPUs are idle
// @column cause_rank INTEGER rank on which the cause goes on
// @column lane INTEGER lane on which it goes on
// @column frame INTEGER frame of it, of the lag of a dependency that of its effect
// @column is_lag BOOLEAN whether it is the lag of a dependency, which no event of the lane is
// @column cause STRING name of the event that goes on meanwhile, or of the gap
// @column category STRING Kineto category of the event, or `gap`
// @column loads BOOLEAN whether it goes on inside what loads data
// @column evidence STRING `recorded` or `inferred`: of a gap that of the dependency whose lag it is
// @column confidence FLOAT how sure that is, 0..1
// @column next_name STRING name of the work that ends the idle times
// @column work LIST of each stretch: that work, as its position in the file's traceEvents
// @column idle_ns LIST of each: length of the idle time that it is part of, -1 before the first work of the rank, ns
// @column begin_ns LIST of each: begin, ns
// @column end_ns LIST of each: end, ns
// Empty when: no GPU is idle before any of its work.
// Needs: Kernel, Memcpy or Memset.
// Cost: walks back over the dependencies inside each idle time; lists instead of rows.

MATCH (e:GpuWork {run: $run})
WHERE e.kernel_type IS NOT NULL AND e.start_ns > $start_ns AND ($rank IS NULL OR e.rank = $rank)
// Before its first work a rank is idle since the window began.
WITH e, e.start_ns - coalesce(e.idle_ns, e.start_ns - $start_ns) AS begins_ns
WHERE begins_ns < e.start_ns AND begins_ns < $end_ns
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
WITH e.rank AS rank, e.name AS next_name, s.rank AS cause_rank, s.lane AS lane, coalesce(s.frame, -1) AS frame, is_lag,
  name AS cause, category,
  CASE WHEN is_lag THEN coalesce(lag.evidence, 'inferred') ELSE 'recorded' END AS evidence,
  CASE WHEN is_lag THEN coalesce(lag.confidence, 0.0) ELSE 1.0 END AS confidence,
  collect(coalesce(e.source_index, -1)) AS work, collect(coalesce(e.idle_ns, -1)) AS whole_ns,
  collect(begin_ns) AS begin_ns, collect(begin_ns + idle_ns) AS end_ns
RETURN rank, cause_rank, lane, frame, is_lag, cause, category,
  EXISTS {
    MATCH (:Frame {run: $run, frame: frame})-[:CALLED_FROM*0..]->(f:Frame)
    WHERE any(beginning IN split($loading, '\n') WHERE f.name STARTS WITH beginning)
  } AS loads, evidence, confidence, next_name, work, whole_ns AS idle_ns, begin_ns, end_ns
ORDER BY rank, cause, category, cause_rank, frame
