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
MATCH (l:Lane {run: $run, lane: lane})
WITH l.rank AS rank, l.device AS device, what, [
  CASE WHEN start_ns < $start_ns THEN $start_ns ELSE start_ns END,
  CASE WHEN end_ns > $end_ns THEN $end_ns ELSE end_ns END
] AS ends
// A wait lies inside a communication, of which it is the part that moves nothing.
UNWIND [[ends[0], 1], [ends[1], -1]] AS turn
WITH rank, device, turn[0] AS at_ns, CASE turn[1] WHEN 1 THEN what END AS begun,
  [kind IN ['computation', 'memory', 'communication', 'wait'] | CASE what WHEN kind THEN turn[1] ELSE 0 END] AS change
ORDER BY at_ns
WITH rank, device, sum(CASE WHEN begun <> 'wait' THEN 1 ELSE 0 END) AS count, collect([at_ns] + change) AS turns
WITH rank, device, count, reduce(
  state = [turns[0][0], 0, 0, 0, 0, 0, 0, 0, 0], t IN turns |
  [
    t[0], state[1] + t[1], state[2] + t[2], state[3] + t[3], state[4] + t[4],
    state[5] + CASE WHEN state[1] > 0 THEN t[0] - state[0] ELSE 0 END,
    state[6] + CASE WHEN state[1] = 0 AND state[2] > 0 THEN t[0] - state[0] ELSE 0 END,
    state[7] + CASE WHEN state[1] + state[2] > 0 OR state[3] <= state[4] THEN 0 ELSE t[0] - state[0] END,
    state[8] + CASE WHEN state[1] + state[2] > 0 OR state[3] = 0 OR state[3] > state[4] THEN 0 ELSE t[0] - state[0] END
  ]
) AS spent
WITH *, spent[5] + spent[6] + spent[7] + spent[8] AS busy_ns
RETURN rank, device, busy_ns, toFloat(busy_ns) / ($end_ns - $start_ns) AS busy_share, count, spent[5] AS computing_ns,
  spent[6] + spent[7] AS transferring_ns, spent[8] AS waiting_ns, spent[7] AS communicating_ns
ORDER BY rank, device
