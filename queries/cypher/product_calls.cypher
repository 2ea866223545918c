// The products whose FLOPs are known: when the GPU work of each call begins, and whether backward passes run it.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: work that begins in it counts, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param products STRING kinds of work that are products, one a line
// @param engine STRING beginning of the names of events in which the autograd engine runs backward operators
// @column rank INTEGER rank of the process
// @column device INTEGER? GPU index
// @column step INTEGER? number of the step in which it was launched
// @column name STRING name of the operator
// @column shapes STRING? shapes of its inputs
// @column dtype STRING? element type in which it computes
// @column backward BOOLEAN whether a backward operator runs it
// @column numbered BOOLEAN whether it has a sequence number of its own there, as forward work has
// @column begin_ns LIST of each call: when its first GPU work begins, ns
// @column flops LIST of each call: floating point operations
// Empty when: no work that begins in the window is of such an operator with shapes.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the window and its operators once, and what contains operators of backward threads.

CALL () {
  // `frame >= 0` lets the index on (run, frame) find the frames of the run.
  MATCH (f:Frame {run: $run}) WHERE f.frame >= 0 AND f.name STARTS WITH $engine
  RETURN collect(DISTINCT f.lane) AS engines
}
MATCH (e:GpuWork {run: $run, kernel_type: 'computation'})
WHERE e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
MATCH (e)-[:WORK_OF]->(o:Event) WHERE o.work IN split($products, '\n') AND o.flops IS NOT NULL
WITH engines, o, min(e.start_ns) AS begin_ns, min(e.step) AS step, min(e.lane) AS lane
// Of a call in a thread of the engine: the innermost backward operator around it. Backward operators record no
// sequence numbers of their own inside, since nothing is to be differentiated there; forward work does.
WITH o, begin_ns, step, lane, CASE WHEN o.lane IN engines THEN head(COLLECT {
    MATCH way = (o)-[:CHILD_OF*]->(node:Event) WHERE node.name STARTS WITH $engine
    RETURN coalesce(any(n IN nodes(way) WHERE n.sequence_number <> node.sequence_number), false)
    ORDER BY length(way) LIMIT 1
  }) END AS is_own
WITH o.name AS name, o.shapes AS shapes, o.dtype AS dtype, lane, step,
  is_own IS NOT NULL AS backward, coalesce(is_own, false) AS numbered,
  collect(begin_ns) AS begin_ns, collect(o.flops) AS flops
MATCH (l:Lane {run: $run, lane: lane})
RETURN l.rank AS rank, l.device AS device, step, name, shapes, dtype, backward, numbered, begin_ns, flops
ORDER BY rank, step, name, shapes, dtype, backward, numbered, device
