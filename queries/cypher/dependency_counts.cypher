// How many dependencies of each kind, mechanism and evidence a run has.
// @param run STRING name of the run
// @column dependency STRING relationship type
// @column mechanism STRING the rule that made them
// @column evidence STRING `recorded` or `inferred`
// @column count INTEGER number of relationships
// @column binding INTEGER how many of them explain their effect's start
// @column confidence FLOAT mean confidence, 0..1
// Order: count, largest first, then the names.
// Empty when: no segment depends on another.
// Cost: reads every dependency of the run.

// @include parts_of_time
CALL (chains, since_ns, until_ns) {
  UNWIND chains AS chain
  MATCH (s:Segment {run: $run, chain: chain})-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD]->(:Segment)
  // The last two hold for all: they let the index on (run, chain, start_ns, end_ns, frame) find the segments.
  WHERE s.start_ns >= since_ns AND s.start_ns < until_ns AND s.end_ns IS NOT NULL AND s.frame IS NOT NULL
  RETURN type(d) AS dependency, d.mechanism AS mechanism, d.evidence AS evidence, d.confidence AS confidence,
    count(*) AS count, sum(CASE WHEN d.binding THEN 1 ELSE 0 END) AS binding
} IN CONCURRENT TRANSACTIONS OF 1 ROW
WITH dependency, mechanism, evidence, confidence, sum(count) AS count, sum(binding) AS binding
// Parts end in any order, and a mean of fractions depends on theirs.
ORDER BY confidence
RETURN dependency, mechanism, evidence, sum(count) AS count, sum(binding) AS binding,
  sum(count * confidence) / sum(count) AS confidence
ORDER BY count DESC, dependency, mechanism, evidence
