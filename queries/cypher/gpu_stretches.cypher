// When the GPUs of each rank do what: products of known work, other computing, communication, waits in it, memory.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param products STRING kinds of work that are products, one a line
// @column rank INTEGER rank of the process; a row for each of its lanes
// @column device INTEGER? GPU index
// @column what STRING `computation`, `communication`, `wait` (inside communication) or `memory`
// @column is_product BOOLEAN whether it belongs to a product whose FLOPs are known
// @column dtype STRING? of products: the element type in which they compute
// @column begin_ns LIST of each activity: start, ns
// @column end_ns LIST of each activity: end, ns
// Empty when: no GPU work lies in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the window, and the waits in communication, once; lists instead of rows.

CALL () {
  // @include gpu_work
  OPTIONAL MATCH (e)-[:WORK_OF]->(o:Event)
  WHERE e.kernel_type = 'computation' AND o.work IN split($products, '\n') AND o.flops IS NOT NULL
  RETURN e.lane AS lane, e.kernel_type AS what, o IS NOT NULL AS is_product, o.dtype AS dtype,
    e.start_ns AS begin_ns, e.end_ns AS end_ns
  UNION ALL
  // A wait for another rank is a piece of the communication that it is in.
  MATCH (e:GpuWork {run: $run, kernel_type: 'communication'})
  WHERE e.start_ns < $end_ns AND e.end_ns > $start_ns AND ($rank IS NULL OR e.rank = $rank)
  UNWIND CASE WHEN e:Segment THEN [e] ELSE COLLECT { MATCH (piece:Segment)-[:PART_OF]->(e) RETURN piece } END AS s
  WITH e, s WHERE s.kind = 'wait' AND s.start_ns < $end_ns AND s.end_ns > $start_ns
  RETURN e.lane AS lane, 'wait' AS what, false AS is_product, null AS dtype, s.start_ns AS begin_ns, s.end_ns AS end_ns
}
// Lists of each lane first: a lane is looked up once, not for each of its activities.
WITH lane, what, is_product, dtype, collect(begin_ns) AS begins, collect(end_ns) AS ends
MATCH (l:Lane {run: $run, lane: lane})
RETURN l.rank AS rank, l.device AS device, what, is_product, dtype, begins AS begin_ns, ends AS end_ns
ORDER BY rank, device, what, is_product, dtype, lane
