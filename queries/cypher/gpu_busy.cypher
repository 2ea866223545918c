// How each GPU spends a window: computing, moving data, waiting for other ranks, or idle.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @column rank INTEGER rank of the process
// @column device INTEGER? GPU index
// @column busy_ns INTEGER time in which at least one activity ran, also one that waited for other ranks, ns
// @column busy_share FLOAT share of the window, 0..1
// @column count INTEGER number of activities
// @column computing_ns INTEGER how much of the busy time at least one computation ran, ns
// @column transferring_ns INTEGER how much of it copies or communication ran, but no computation, ns
// @column waiting_ns INTEGER the rest of it: nothing ran but kernels that are known to wait for other ranks, ns
// @column communicating_ns INTEGER of the transferring time: nothing ran but communication, ns
// Order: rank, then device.
// Empty when: no GPU activity lies in the window.
// Cost: reads the GPU work of the window, and the waits of streams, once.

CALL () {
  // `kernel_type` is in an index that holds GPU work alone.
  MATCH (e:Event {run: $run})
  WHERE e.kernel_type IS NOT NULL AND e.start_ns < $end_ns AND e.end_ns > $start_ns
  RETURN e.lane AS lane, e.start_ns AS start_ns, e.end_ns AS end_ns, e.kernel_type AS what
UNION ALL
  MATCH (l:Lane {run: $run, kind: 'stream'})
  WITH collect(l.lane) AS streams
  // `chain >= 0` lets the index on (run, chain) find the chains of the run.
  MATCH (c:Chain {run: $run})
  WHERE c.chain >= 0 AND c.start_ns < $end_ns AND c.end_ns > $start_ns AND c.lane IN streams
  MATCH (s:Segment {run: $run, chain: c.chain, kind: 'wait'})
  WHERE s.start_ns < $end_ns AND s.end_ns > $start_ns
  RETURN c.lane AS lane, s.start_ns AS start_ns, s.end_ns AS end_ns, 'wait' AS what
}
// One number says how many of each kind run, since lists of four would take twice as long: a wait counts 1,
// communication 2^16, memory 2^32, computing 2^48. A wait lies inside a communication, of which it is the part
// that moves nothing.
WITH lane, CASE WHEN start_ns < $start_ns THEN $start_ns ELSE start_ns END AS start_ns,
  CASE WHEN end_ns > $end_ns THEN $end_ns ELSE end_ns END AS end_ns,
  CASE what WHEN 'computation' THEN 281474976710656 WHEN 'memory' THEN 4294967296 WHEN 'communication' THEN 65536
    ELSE 1 END AS one
// Each lane is looked up once, not for each of its activities.
WITH lane, sum(CASE one WHEN 1 THEN 0 ELSE 1 END) AS count,
  collect([start_ns, one]) + collect([end_ns, -one]) AS turns
MATCH (l:Lane {run: $run, lane: lane})
WITH l.rank AS rank, l.device AS device, count, turns
WITH rank, device, sum(count) AS count, collect(turns) AS lanes
UNWIND lanes AS turns
UNWIND turns AS turn
WITH rank, device, count, turn[0] AS at_ns, sum(turn[1]) AS change
ORDER BY at_ns
WITH rank, device, count, collect([at_ns, change]) AS turns
WITH rank, device, count, reduce(
  state = [turns[0][0], 0, 0, 0, 0, 0], t IN turns |
  [
    t[0], state[1] + t[1],
    state[2] + CASE WHEN state[1] >= 281474976710656 THEN t[0] - state[0] ELSE 0 END,
    state[3] + CASE WHEN state[1] >= 4294967296 AND state[1] < 281474976710656 THEN t[0] - state[0] ELSE 0 END,
    state[4] + CASE WHEN state[1] < 4294967296 AND state[1] / 65536 > state[1] % 65536 THEN t[0] - state[0] ELSE 0 END,
    state[5] + CASE WHEN state[1] < 4294967296 AND state[1] >= 65536 AND state[1] / 65536 <= state[1] % 65536
      THEN t[0] - state[0] ELSE 0 END
  ]
) AS spent
WITH *, spent[2] + spent[3] + spent[4] + spent[5] AS busy_ns
RETURN rank, device, busy_ns, toFloat(busy_ns) / ($end_ns - $start_ns) AS busy_share, count, spent[2] AS computing_ns,
  spent[3] + spent[4] AS transferring_ns, spent[5] AS waiting_ns, spent[4] AS communicating_ns
ORDER BY rank, device
