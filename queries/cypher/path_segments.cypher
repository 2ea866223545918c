// The segments of a window's critical path, those that differ in place and time only in one row.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @column rank INTEGER rank of the process
// @column lane INTEGER lane id
// @column name STRING name of the event, or of the gap
// @column category STRING Kineto category, or `gap`
// @column dependency STRING? type of the dependency that explains the start
// @column mechanism STRING? the rule that made it
// @column evidence STRING? `recorded` or `inferred`
// @column confidence FLOAT? how sure the rule is, 0..1
// @column lag_ns INTEGER? what a replay adds to the cause's completion, ns
// @column gap_ns INTEGER? observed between the cause's completion and the start, ns
// @column lag_name STRING name of the gap before the segment, if there is one
// @column source_index LIST of each segment: 0-based position in the file's traceEvents, -1 for a gap
// @column margin_ns LIST of each segment: how much later its cause comes than the second-best, ns, -1 for one cause
// @column start_ns LIST of each segment: start, clipped to the window, ns
// @column end_ns LIST of each segment: end, clipped to the window, ns
// Empty when: the run has no such chain.
// Cost: lists instead of rows, as every row of a result costs as much as a hundred numbers in a list.

// @include walk
MATCH (s:Segment {run: $run, chain: exit.chain})
// A segment of no length that ends where the path leaves is on it: the lag before it tells why it started.
WHERE s.start_ns <= exit.exit_ns AND s.end_ns > $start_ns AND s.frame IS NOT NULL
  AND CASE s.start_ns WHEN exit.exit_ns THEN s.end_ns = exit.exit_ns ELSE true END
OPTIONAL MATCH (s)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD WHERE d.binding]-(:Segment)
RETURN s.rank AS rank, s.lane AS lane, s.name AS name,
  CASE s.kind WHEN 'work' THEN s.category ELSE 'gap' END AS category,
  type(d) AS dependency, d.mechanism AS mechanism, d.evidence AS evidence, d.confidence AS confidence,
  d.lag_ns AS lag_ns, d.gap_ns AS gap_ns,
  coalesce(d.gap_name, 'unknown') AS lag_name,
  collect(coalesce(CASE s.kind WHEN 'work' THEN s.source_index END, -1)) AS source_index,
  collect(coalesce(s.margin_ns, -1)) AS margin_ns,
  collect(CASE WHEN s.start_ns < $start_ns THEN $start_ns ELSE s.start_ns END) AS start_ns,
  collect(CASE WHEN s.end_ns > $end_ns THEN $end_ns ELSE s.end_ns END) AS end_ns
