// Events that are not critical but would become so if they lasted a little longer, those that would first on top.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param slack_ns INTEGER largest slack listed, ns, 1..1000000000000000, default 100000
// @param least_ns INTEGER shortest duration listed, ns, 0..1000000000000000, default 0
// @param limit INTEGER rows listed, 1..10000, default 20
// @column name STRING name of the events
// @column category STRING Kineto category
// @column lane INTEGER lane id
// @column lane_name STRING readable name of the lane
// @column slack_ns INTEGER smallest slack: by how much one of them may end later before the run gets longer, ns
// @column duration_ns INTEGER total length in the window of their stretches with a slack of at most the largest, ns
// @column share FLOAT duration as a share of the window, 0..1
// @column count INTEGER number of those stretches
// Order: slack, smallest first, then duration, longest first, then name, category and lane.
// Empty when: every segment is critical or has more slack.
// Cost: reads all segments in the window.

// Chains are pruned first; `chain >= 0` lets the index on (run, chain) find those of the run.
MATCH (c:Chain {run: $run})
WHERE c.chain >= 0 AND c.start_ns < $end_ns AND c.end_ns > $start_ns
MATCH (s:Segment {run: $run, chain: c.chain, kind: 'work'})
WHERE s.start_ns < $end_ns AND s.end_ns > $start_ns AND s.frame IS NOT NULL
  AND s.slack_ns > 0 AND s.slack_ns <= $slack_ns
WITH s.name AS name, s.category AS category, s.lane AS lane, min(s.slack_ns) AS slack_ns,
  sum(
    // @include clipped_length
  ) AS duration_ns, count(*) AS count
WHERE duration_ns >= $least_ns
WITH name, category, lane, slack_ns, duration_ns, count
ORDER BY slack_ns, duration_ns DESC, name, category, lane LIMIT $limit
MATCH (l:Lane {run: $run, lane: lane})
RETURN name, category, lane, l.name AS lane_name, slack_ns, duration_ns,
  toFloat(duration_ns) / ($end_ns - $start_ns) AS share, count
ORDER BY slack_ns, duration_ns DESC, name, category, lane
