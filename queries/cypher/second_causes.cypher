// How close a second cause comes to the one that started them, for the largest events of a window's path.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @param limit INTEGER rows listed, 1..10000, default 10
// @column name STRING name of the events
// @column category STRING Kineto category
// @column duration_ns INTEGER time on the path, ns
// @column count INTEGER their starts on the path that have a second cause
// @column margin_ns INTEGER? smallest of their margins: how much later the cause comes than the second-best, ns
// @column cause STRING? name of the cause at that start
// @column mechanism STRING? the rule that made its dependency
// @column second STRING? name of the second-best cause there: it leads in once the cause is that much earlier
// @column second_mechanism STRING? the rule that made its dependency
// Order: duration, longest first, then name and category.
// Empty when: the path holds gaps only.
// Cost: reads the segments on the path once.

// @include walk
WITH collect(exit) AS exits
// @include step_frames
UNWIND exits AS exit
MATCH (s:Segment {run: $run, chain: exit.chain})
WHERE s.start_ns < exit.exit_ns AND s.end_ns > $start_ns AND s.end_ns - s.start_ns > 0 AND s.frame IS NOT NULL
// By frame, as numbers are compared faster than names, and the index holds them; only a step's does not tell its name.
WITH s, CASE WHEN s.frame IN step_frames THEN s.name END AS step,
    // @include clipped_length
  AS length_ns,
  // The cause of what begins before the window is not in it.
  CASE WHEN s.start_ns > $start_ns THEN s.margin_ns END AS margin_ns
WITH s.frame AS frame, step, sum(length_ns) AS duration_ns,
  count(margin_ns) AS count, min(margin_ns) AS margin_ns,
  min(CASE WHEN margin_ns IS NOT NULL THEN [margin_ns, s.start_ns, elementId(s)] END) AS closest
MATCH (f:Frame {run: $run, frame: frame}) WHERE f.category <> 'gap'
WITH coalesce(step, f.name) AS name, f.category AS category, sum(duration_ns) AS duration_ns, sum(count) AS count,
  min(margin_ns) AS margin_ns, min(closest) AS closest
ORDER BY duration_ns DESC, name, category LIMIT $limit
OPTIONAL MATCH (s:Segment)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD]-(before:Segment)
WHERE elementId(s) = closest[2]
// The binding cause, then the one that would have let it start last: lag_ns - gap_ns is that start's distance.
WITH name, category, duration_ns, count, margin_ns, d, before
ORDER BY d.binding DESC, d.lag_ns - d.gap_ns DESC, d.mechanism
WITH name, category, duration_ns, count, margin_ns,
  collect({name: before.name, mechanism: d.mechanism}) AS causes
RETURN name, category, duration_ns, count, margin_ns,
  causes[0].name AS cause, causes[0].mechanism AS mechanism,
  causes[1].name AS second, causes[1].mechanism AS second_mechanism
ORDER BY duration_ns DESC, name, category
