// The longest stretches of one name on the critical path, with all causes and effects of each.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @param name STRING name of the events
// @param limit INTEGER stretches shown, longest first, 1..100, default 10
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
// Order: effect's start, then cause's start; 1000 dependencies at most.
// Empty when: no event of that name is on the path.

// @include walk
MATCH (s:Segment {run: $run, chain: exit.chain})
WHERE s.start_ns < exit.exit_ns AND s.end_ns > $start_ns AND s.frame IS NOT NULL
  AND s.kind = 'work' AND s.name = $name
WITH s ORDER BY s.end_ns - s.start_ns DESC, s.start_ns LIMIT $limit
MATCH (s)-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD]-(:Segment)
WITH DISTINCT d LIMIT 1000
WITH d, startNode(d) AS cause, endNode(d) AS effect
RETURN elementId(cause) AS cause, cause.lane AS cause_lane, cause.name AS cause_name,
  cause.category AS cause_category, cause.start_ns AS cause_start_ns, cause.end_ns AS cause_end_ns,
  elementId(effect) AS effect, effect.lane AS effect_lane, effect.name AS effect_name,
  effect.category AS effect_category, effect.start_ns AS effect_start_ns, effect.end_ns AS effect_end_ns,
  type(d) AS dependency, d.mechanism AS mechanism, d.evidence AS evidence, d.confidence AS confidence,
  d.lag_ns AS lag_ns, d.gap_ns AS gap_ns, d.binding AS binding
ORDER BY effect_start_ns, effect_end_ns, cause_start_ns, cause_end_ns, dependency
