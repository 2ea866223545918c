// The chains of a window's critical path: on which lane it runs from when to when, and what led it there.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @column chain INTEGER chain id
// @column rank INTEGER rank of the process
// @column lane INTEGER lane id
// @column enter_ns INTEGER start of the chain's first segment, clipped to the window, ns
// @column exit_ns INTEGER where the path leaves the chain, ns
// @column dependency STRING? type of the dependency that led into the chain, null where the window starts
// @column mechanism STRING? the rule that made it
// @column evidence STRING? `recorded` or `inferred`
// @column confidence FLOAT? how sure the rule is, 0..1
// @column lag_ns INTEGER? what a replay adds to the cause's completion, ns
// @column gap_ns INTEGER? observed between the cause's completion and the chain's start, ns
// Order: time.
// Empty when: the run has no such chain.

// @include walk
MATCH (c:Chain {run: $run, chain: exit.chain})
WHERE exit.exit_ns > $start_ns
OPTIONAL MATCH (c)<-[hop:LEADS_TO]-(:Chain) WHERE c.start_ns > $start_ns
RETURN c.chain AS chain, c.rank AS rank, c.lane AS lane,
  CASE WHEN c.start_ns < $start_ns THEN $start_ns ELSE c.start_ns END AS enter_ns, exit.exit_ns AS exit_ns,
  hop.dependency AS dependency, hop.mechanism AS mechanism, hop.evidence AS evidence,
  hop.confidence AS confidence, hop.lag_ns AS lag_ns, hop.gap_ns AS gap_ns
ORDER BY exit_ns, enter_ns, chain
