// When the GPUs of each rank do what: products of known work, other computing, communication, waits in it, memory.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param products STRING kinds of work that are products, one a line
// @column rank INTEGER rank of the process
// @column device INTEGER? GPU index
// @column what STRING `computation`, `communication`, `wait` (inside communication) or `memory`
// @column is_product BOOLEAN whether it belongs to a product whose FLOPs are known
// @column dtype STRING? of products: the element type in which they compute
// @column begin_ns LIST of each activity: start, ns
// @column end_ns LIST of each activity: end, ns
// Empty when: no GPU work lies in the window.
// Cost: reads the GPU work of the window, and the waits of streams, once; lists instead of rows.

CALL () {
  // @include gpu_work
  OPTIONAL MATCH (e)-[:WORK_OF]->(o:Event)
  WHERE e.kernel_type = 'computation' AND o.work IN split($products, '\n') AND o.flops IS NOT NULL
  RETURN e.lane AS lane, e.kernel_type AS what, o IS NOT NULL AS is_product, o.dtype AS dtype,
    e.start_ns AS begin_ns, e.end_ns AS end_ns
  UNION ALL
  MATCH (l:Lane {run: $run, kind: 'stream'}) WHERE $rank IS NULL OR l.rank = $rank
  WITH collect(l.lane) AS streams
  // `chain >= 0` lets the index on (run, chain) find the chains of the run.
  MATCH (c:Chain {run: $run})
  WHERE c.chain >= 0 AND c.start_ns < $end_ns AND c.end_ns > $start_ns AND c.lane IN streams
  MATCH (s:Segment {run: $run, chain: c.chain, kind: 'wait'})
  WHERE s.start_ns < $end_ns AND s.end_ns > $start_ns
  RETURN c.lane AS lane, 'wait' AS what, false AS is_product, null AS dtype, s.start_ns AS begin_ns, s.end_ns AS end_ns
}
MATCH (l:Lane {run: $run, lane: lane})
RETURN l.rank AS rank, l.device AS device, what, is_product, dtype, collect(begin_ns) AS begin_ns, collect(end_ns) AS end_ns
ORDER BY rank, device, what, is_product, dtype
