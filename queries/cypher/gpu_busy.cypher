// How long each GPU was busy in a window, overlapping streams counted once.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @column rank INTEGER rank of the process
// @column device INTEGER? GPU index
// @column busy_ns INTEGER time in which at least one activity ran, also one that waited for other ranks, ns
// @column busy_share FLOAT share of the window, 0..1
// @column count INTEGER number of activities
// Order: rank, then device.
// Empty when: no GPU activity lies in the window.
// Cost: reads the GPU segments of the window once.

MATCH (l:Lane {run: $run, kind: 'stream'})
WITH collect(l.lane) AS streams
// `chain >= 0` lets the index on (run, chain) find the chains of the run.
MATCH (c:Chain {run: $run})
WHERE c.chain >= 0 AND c.start_ns < $end_ns AND c.end_ns > $start_ns AND c.lane IN streams
WITH c.lane AS lane, collect(c.chain) AS chains
MATCH (l:Lane {run: $run, lane: lane})
UNWIND chains AS chain
MATCH (s:Segment {run: $run, chain: chain})
// A kernel that waits for other ranks runs, too.
WHERE s.start_ns < $end_ns AND s.end_ns > $start_ns AND s.kind <> 'gap'
WITH l.rank AS rank, l.device AS device, s.kind = 'work' AS is_work,
  CASE WHEN s.start_ns < $start_ns THEN $start_ns ELSE s.start_ns END AS start_ns,
  CASE WHEN s.end_ns > $end_ns THEN $end_ns ELSE s.end_ns END AS end_ns
ORDER BY start_ns
WITH rank, device, sum(CASE WHEN is_work THEN 1 ELSE 0 END) AS count, collect([start_ns, end_ns]) AS activities
WITH rank, device, count, reduce(state = [0, $start_ns], a IN activities |
  // @include covered_so_far
)[0] AS busy_ns
RETURN rank, device, busy_ns, toFloat(busy_ns) / ($end_ns - $start_ns) AS busy_share, count
ORDER BY rank, device
