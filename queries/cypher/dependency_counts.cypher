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

// The conditions hold for all: they let the index on (run, chain, start_ns, end_ns, frame) find the run's segments.
MATCH (s:Segment {run: $run})-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD]->(:Segment)
WHERE s.chain >= 0 AND s.start_ns IS NOT NULL AND s.end_ns IS NOT NULL AND s.frame IS NOT NULL
RETURN type(d) AS dependency, d.mechanism AS mechanism, d.evidence AS evidence, count(*) AS count,
  sum(CASE WHEN d.binding THEN 1 ELSE 0 END) AS binding, avg(d.confidence) AS confidence
ORDER BY count DESC, dependency, mechanism, evidence
