// What led to an event: the binding causes of its segments, and theirs, back to a depth.
// @param run STRING name of the run
// @param source_index INTEGER 0-based position of the event in its file's traceEvents
// @param rank INTEGER rank of the process, default 0 (a command: the first of the run)
// @param depth INTEGER hops back from each segment, 1..50, default 5
// @param limit INTEGER segments of the event that are followed, earliest first, 1..200, default 20
// @column cause STRING id of the cause in this result
// @column cause_lane INTEGER lane of the cause
// @column cause_name STRING name of the cause
// @column cause_category STRING category of the cause
// @column cause_start_ns INTEGER start of the cause, ns
// @column cause_end_ns INTEGER end of the cause, ns
// @column effect STRING id of the effect in this result
// @column effect_lane INTEGER lane of the effect
// @column effect_name STRING name of the effect
// @column effect_category STRING category of the effect
// @column effect_start_ns INTEGER start of the effect, ns
// @column effect_end_ns INTEGER end of the effect, ns
// @column dependency STRING relationship type
// @column mechanism STRING the rule that made it
// @column evidence STRING `recorded` or `inferred`
// @column confidence FLOAT how sure the rule is, 0..1
// @column lag_ns INTEGER what a replay adds to the cause's completion, ns
// @column gap_ns INTEGER observed between the cause's completion and the effect's start, ns
// @column binding BOOLEAN whether it explains the effect's start
// Order: effect's start, then cause's start.
// Empty when: there is no such event, it has no segments, or it starts the window.

MATCH (e:Event {run: $run, source_index: $source_index, rank: $rank})
CALL (e) {
  WITH e WHERE e:Segment RETURN e AS piece
  UNION
  MATCH (piece:Segment)-[:PART_OF]->(e) RETURN piece
}
WITH piece ORDER BY piece.start_ns, piece.end_ns LIMIT $limit
MATCH (piece)(()<-[hops:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD WHERE hops.binding]-()){1,50}()
WHERE size(hops) <= $depth
UNWIND hops AS d
WITH DISTINCT d, startNode(d) AS cause, endNode(d) AS effect
RETURN elementId(cause) AS cause, cause.lane AS cause_lane, cause.name AS cause_name,
  cause.category AS cause_category, cause.start_ns AS cause_start_ns, cause.end_ns AS cause_end_ns,
  elementId(effect) AS effect, effect.lane AS effect_lane, effect.name AS effect_name,
  effect.category AS effect_category, effect.start_ns AS effect_start_ns, effect.end_ns AS effect_end_ns,
  type(d) AS dependency, d.mechanism AS mechanism, d.evidence AS evidence, d.confidence AS confidence,
  d.lag_ns AS lag_ns, d.gap_ns AS gap_ns, d.binding AS binding
ORDER BY effect_start_ns, effect_end_ns, cause_start_ns, cause_end_ns, dependency
