// Events that are not critical but would become so if they lasted a little longer.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param slack_ns INTEGER largest slack listed, ns, 1..1000000000000, default 100000
// @param limit INTEGER rows listed, 1..10000, default 20
// @column name STRING name of the events
// @column category STRING Kineto category
// @column slack_ns INTEGER smallest slack: by how much one of them may end later at no cost, ns
// @column duration_ns INTEGER total length of their stretches with a slack of at most that, ns
// @column count INTEGER number of those stretches
// Order: duration, longest first, then name and category.
// Empty when: every segment is critical or has more slack.
// Cost: reads all segments in the window.

// Chains are pruned first; `chain >= 0` lets the index on (run, chain) find those of the run.
MATCH (c:Chain {run: $run})
WHERE c.chain >= 0 AND c.start_ns < $end_ns AND c.end_ns > $start_ns
MATCH (s:Segment {run: $run, chain: c.chain, kind: 'work'})
WHERE s.start_ns < $end_ns AND s.end_ns > $start_ns AND s.slack_ns > 0 AND s.slack_ns <= $slack_ns
RETURN s.name AS name, s.category AS category, min(s.slack_ns) AS slack_ns,
  sum(s.end_ns - s.start_ns) AS duration_ns, count(*) AS count
ORDER BY duration_ns DESC, name, category
LIMIT $limit
