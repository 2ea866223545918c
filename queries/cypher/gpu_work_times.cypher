// When each GPU computes, moves data, communicates, and waits for other ranks, by stream.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @column rank INTEGER rank of the process
// @column device INTEGER? GPU index
// @column lane INTEGER lane id of the stream
// @column what STRING `computation`, `memory`, `communication`, or `wait`: a part of a communication that moves nothing
// @column begin_ns LIST of each: start, ns
// @column end_ns LIST of each: end, ns
// Order: rank, device, then lane.
// Empty when: no GPU activity lies in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the window, and the waits of streams, once; lists instead of rows.
// Index: needs those of a first screen.

CALL () {
  MATCH (e:GpuWork {run: $run})
  WHERE e.kernel_type IS NOT NULL AND e.start_ns < $end_ns AND e.end_ns > $start_ns
  RETURN e.lane AS lane, e.start_ns AS start_ns, e.end_ns AS end_ns, e.kernel_type AS what
UNION ALL
  MATCH (l:Lane {run: $run, kind: 'stream'})
  WITH collect(l.lane) AS streams
  // `chain >= 0` lets the index on (run, chain) find the chains of the run.
  MATCH (c:Chain {run: $run})
  WHERE c.chain >= 0 AND c.start_ns < $end_ns AND c.end_ns > $start_ns AND c.lane IN streams
  MATCH (s:Pause {run: $run, chain: c.chain, kind: 'wait'})
  WHERE s.start_ns < $end_ns AND s.end_ns > $start_ns
  RETURN c.lane AS lane, s.start_ns AS start_ns, s.end_ns AS end_ns, 'wait' AS what
}
// Each lane is looked up once, not for each of its activities.
WITH lane, what, collect(start_ns) AS begin_ns, collect(end_ns) AS end_ns
MATCH (l:Lane {run: $run, lane: lane})
RETURN l.rank AS rank, l.device AS device, lane, what, begin_ns, end_ns
ORDER BY rank, device, lane, what
