// How long each thread waits in a window and for what, on the critical path or not.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param least_ns INTEGER shortest duration listed, ns, 0..1000000000000000, default 0
// @param limit INTEGER rows listed, 1..1000000, default 100
// @column lane INTEGER lane id
// @column lane_name STRING readable name of the thread
// @column name STRING name of the waits, such as `waiting for GPU`
// @column duration_ns INTEGER their total length in the window, ns
// @column share FLOAT duration as a share of the window, 0..1
// @column count INTEGER number of waits
// Order: duration, longest first, then lane and name.
// Empty when: no rule says that a thread waits.
// Cost: reads the pauses of the threads in the window once.
// Index: needs those of a first screen.

MATCH (l:Lane {run: $run, kind: 'thread'})
WITH collect(l.lane) AS threads
// `chain >= 0` lets the index on (run, chain) find the chains of the run.
MATCH (c:Chain {run: $run})
WHERE c.chain >= 0 AND c.start_ns < $end_ns AND c.end_ns > $start_ns AND c.lane IN threads
MATCH (s:Pause {run: $run, chain: c.chain, kind: 'wait'})
WHERE s.start_ns < $end_ns AND s.end_ns > $start_ns
WITH s.lane AS lane, s.name AS name,
  sum(
    // @include clipped_length
  ) AS duration_ns, count(*) AS count
WHERE duration_ns >= $least_ns
WITH lane, name, duration_ns, count ORDER BY duration_ns DESC, lane, name LIMIT $limit
MATCH (l:Lane {run: $run, lane: lane})
RETURN lane, l.name AS lane_name, name, duration_ns, toFloat(duration_ns) / ($end_ns - $start_ns) AS share,
  count
ORDER BY duration_ns DESC, lane, name
