// What each chain in a window starts after: the way back from anything on it.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param limit INTEGER chains listed, the longest, 1..1000000, default 20000
// @column chain INTEGER chain id, unique within the run
// @column lane INTEGER lane id
// @column start_ns INTEGER start of the chain, ns
// @column end_ns INTEGER end of the chain, ns
// @column cause_chain INTEGER? chain of the binding cause of its first segment, null where that has none
// @column cause_lane INTEGER? lane of that cause
// @column at_ns INTEGER? when the cause was complete: there the way leaves its chain, ns
// @column dependency STRING? relationship type
// @column mechanism STRING? the rule that made it
// @column evidence STRING? `recorded` or `inferred`
// @column confidence FLOAT? how sure the rule is, 0..1
// Order: lane, then start, then chain.
// Empty when: nothing is recorded in the window.
// Cost: reads the chains of the window once.

// `chain >= 0` lets the index on (run, chain) find the chains of the run.
MATCH (c:Chain {run: $run})
WHERE c.chain >= 0 AND c.start_ns < $end_ns AND c.end_ns > $start_ns
WITH c ORDER BY c.end_ns - c.start_ns DESC, c.chain LIMIT $limit
OPTIONAL MATCH (cause:Chain)-[d:LEADS_TO]->(c)
RETURN c.chain AS chain, c.lane AS lane, c.start_ns AS start_ns, c.end_ns AS end_ns,
  cause.chain AS cause_chain, cause.lane AS cause_lane, d.at_ns AS at_ns, d.dependency AS dependency,
  d.mechanism AS mechanism, d.evidence AS evidence, d.confidence AS confidence
ORDER BY lane, start_ns, chain
