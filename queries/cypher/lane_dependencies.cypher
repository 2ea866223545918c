// Which lanes cause what on which other lanes in a window.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @column cause_lane INTEGER lane of the causes
// @column effect_lane INTEGER lane of the effects
// @column dependency STRING relationship type
// @column mechanism STRING the rule that made them
// @column evidence STRING `recorded` or `inferred`
// @column count INTEGER number of dependencies
// @column binding INTEGER how many of them explain their effect's start
// @column gap_ns INTEGER total time between completion and start of the binding ones, ns
// Order: binding, most first, then the lanes and names.
// Empty when: every lane keeps to itself.
// Cost: of a run with several lanes, reads all dependencies whose effect starts in the window.

MATCH (l:Lane {run: $run})
WITH count(l) AS lanes WHERE lanes > 1
// @include parts_of_time
WITH chains, since_ns, until_ns WHERE since_ns < $end_ns AND until_ns > $start_ns
CALL (chains, since_ns, until_ns) {
  UNWIND chains AS chain
  MATCH (s:Segment {run: $run, chain: chain})
  WHERE s.start_ns >= since_ns AND s.start_ns < until_ns AND s.start_ns >= $start_ns AND s.start_ns < $end_ns
    AND s.end_ns IS NOT NULL AND s.frame IS NOT NULL
  MATCH (s)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD]-(cause:Segment) WHERE cause.lane <> s.lane
  RETURN cause.lane AS cause_lane, s.lane AS effect_lane, type(d) AS dependency, d.mechanism AS mechanism,
    d.evidence AS evidence, count(*) AS count, sum(CASE WHEN d.binding THEN 1 ELSE 0 END) AS binding,
    sum(CASE WHEN d.binding THEN d.gap_ns ELSE 0 END) AS gap_ns
} IN CONCURRENT TRANSACTIONS OF 1 ROW
RETURN cause_lane, effect_lane, dependency, mechanism, evidence, sum(count) AS count, sum(binding) AS binding,
  sum(gap_ns) AS gap_ns
ORDER BY binding DESC, cause_lane, effect_lane, dependency, mechanism, evidence
