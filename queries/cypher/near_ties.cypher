// Stretches of the critical path whose second-best cause comes almost as late as the one that was chosen.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @param margin_ns INTEGER largest margin listed, ns, 0..1000000000, default 1000
// @param limit INTEGER rows listed, 1..10000, default 20
// @column lane INTEGER lane id
// @column source_index INTEGER? 0-based position in the file's traceEvents
// @column name STRING name of the event or gap
// @column category STRING Kineto category, or `gap`
// @column start_ns INTEGER start, ns
// @column end_ns INTEGER end, ns
// @column margin_ns INTEGER how much later the binding cause comes than the second-best, ns
// @column cause STRING? name of the binding cause
// @column mechanism STRING? the rule that made its dependency
// @column second STRING? name of the second-best cause
// @column second_mechanism STRING? the rule that made its dependency
// Order: margin, smallest first, then start.
// Empty when: no segment of the path has a second cause that close.

// @include walk
MATCH (s:Segment {run: $run, chain: exit.chain})
WHERE s.start_ns < exit.exit_ns AND s.end_ns > $start_ns AND s.frame IS NOT NULL
  AND s.margin_ns <= $margin_ns
WITH s ORDER BY s.margin_ns, s.start_ns, s.end_ns LIMIT $limit
OPTIONAL MATCH (s)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD]-(cause:Segment)
// The binding cause, then the one that would have let it start last: lag_ns - gap_ns is that start's distance.
WITH s, d, cause ORDER BY d.binding DESC, d.lag_ns - d.gap_ns DESC, d.mechanism
WITH s, collect({name: cause.name, mechanism: d.mechanism}) AS causes
RETURN s.lane AS lane, s.source_index AS source_index, s.name AS name, s.category AS category,
  s.start_ns AS start_ns, s.end_ns AS end_ns, s.margin_ns AS margin_ns,
  causes[0].name AS cause, causes[0].mechanism AS mechanism,
  causes[1].name AS second, causes[1].mechanism AS second_mechanism
ORDER BY margin_ns, start_ns, end_ns
