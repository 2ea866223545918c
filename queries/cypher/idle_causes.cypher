// Why GPUs are idle: what the next work of an idle rank waits for meanwhile, by the dependencies that bind its start.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param least_ns INTEGER shortest idle time that is explained, ns, 1..1000000000000, default 1
// @param limit INTEGER rows listed, 1..10000, default 1000
// @column rank INTEGER rank whose GPUs are idle
// @column cause STRING name of the event that goes on meanwhile, or of the gap
// @column category STRING Kineto category of the event, or `gap`
// @column caller STRING? name of what called it, or of its thread; null for a gap
// @column cause_rank INTEGER rank on which it goes on
// @column lane_name STRING thread or stream on which it goes on
// @column idle_ns INTEGER how much idle time it takes, ns
// @column share FLOAT the same as a share of the rank's idle time that is explained, 0..1
// @column count INTEGER number of idle times in which it goes on
// @column longest_ns INTEGER the most of one idle time, ns
// @column next_name STRING name of the work that waits longest for it
// Order: idle time, longest first, then rank, cause, caller and lane.
// Empty when: no GPU is idle between two activities in the window.
// Cost: walks back over the dependencies inside each idle time that is long enough.

// @include idle_ends
// @include idle_walk
WITH e.rank AS rank, e.source_index AS ended_by, name AS cause, category, s.lane AS lane,
  CASE WHEN is_lag THEN null ELSE s.frame END AS frame, e.name AS next_name, sum(idle_ns) AS idle_ns
WITH rank, cause, category, lane, frame, next_name, sum(idle_ns) AS idle_ns, count(*) AS count, max(idle_ns) AS longest_ns
OPTIONAL MATCH (:Frame {run: $run, frame: frame})-[:CALLED_FROM]->(f:Frame)
WITH rank, cause, category, lane, f.name AS caller, next_name, sum(idle_ns) AS idle_ns, sum(count) AS count,
  max(longest_ns) AS longest_ns
ORDER BY idle_ns DESC, next_name
WITH rank, cause, category, lane, caller, sum(idle_ns) AS idle_ns, sum(count) AS count, max(longest_ns) AS longest_ns,
  collect(next_name)[0] AS next_name
WITH rank, sum(idle_ns) AS rank_ns, collect({cause: cause, category: category, lane: lane, caller: caller,
  idle_ns: idle_ns, count: count, longest_ns: longest_ns, next_name: next_name}) AS causes
UNWIND causes AS one
// Sums are new rows: any other carries the list, and the server counts it in each row that it sorts.
WITH rank, rank_ns, one.cause AS cause, one.category AS category, one.caller AS caller, one.lane AS lane,
  one.next_name AS next_name, sum(one.idle_ns) AS idle_ns, sum(one.count) AS count, max(one.longest_ns) AS longest_ns
ORDER BY idle_ns DESC, rank, cause, caller, lane LIMIT $limit
MATCH (l:Lane {run: $run, lane: lane})
RETURN rank, cause, category, caller, l.rank AS cause_rank, l.name AS lane_name, idle_ns,
  toFloat(idle_ns) / rank_ns AS share, count, longest_ns, next_name
ORDER BY idle_ns DESC, rank, cause, caller, lane_name
