// When each rank computes and when its messages to single other ranks run, for the stages of a pipeline.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param messages STRING beginnings of names of messages on threads, one a line
// @param talking STRING beginnings of names of operators that communicate, one a line
// @param kinds STRING kinds of operation that are messages, one a line
// @column rank INTEGER rank of the process
// @column what STRING `computation` or `communication`: of messages
// @column on_gpu BOOLEAN whether it runs on a GPU; without one, operators that no other operator calls
// @column is_known BOOLEAN of messages: whether the other side is here, so that its wait is left out
// @column begin_ns LIST of each: start, of messages whose other side is here from when both have come, ns
// @column end_ns LIST of each: end, ns
// Empty when: nothing ran in the window, or the run is of one rank.
// Cost: of several ranks, reads the operators and kernels of the window once; lists instead of rows.

// @include off_gpus
MATCH (t:Trace {run: $run})
WITH off_gpus, count(t) AS ranks WHERE ranks > 1
CALL (off_gpus) {
  MATCH (e:GpuWork {run: $run})
  WHERE e.kernel_type = 'computation' AND e.start_ns < $end_ns AND e.end_ns > $start_ns
  RETURN e.rank AS rank, e.kernel_type AS what, true AS on_gpu, false AS is_known, e.start_ns AS begin_ns,
    e.end_ns AS end_ns
  UNION ALL
  MATCH (e:Event:CpuOp {run: $run})
  WHERE e.start_ns < $end_ns AND e.end_ns > $start_ns AND NOT EXISTS { (e)-[:CHILD_OF]->(:CpuOp) }
    AND none(name IN split($talking, '\n') WHERE e.name STARTS WITH name)
  RETURN e.rank AS rank, 'computation' AS what, false AS on_gpu, false AS is_known, e.start_ns AS begin_ns,
    e.end_ns AS end_ns
  UNION ALL
  CALL (off_gpus) {
    MATCH (e:GpuWork {run: $run}) WHERE e.kernel_type IS NOT NULL RETURN e
    UNION ALL
    WITH off_gpus WHERE off_gpus
    MATCH (e:Event {run: $run}) USING INDEX e:Event(run) WHERE NOT e:GpuWork RETURN e
  }
  WITH e
  WHERE e.start_ns < $end_ns AND e.end_ns > $start_ns AND (e.collective_kind IN split($kinds, '\n')
    OR any(name IN split($messages, '\n') WHERE e.name STARTS WITH name))
  OPTIONAL MATCH (e)-[m:MEMBER_OF]->()
  RETURN e.rank AS rank, 'communication' AS what, e:GpuWork AS on_gpu, m IS NOT NULL AS is_known,
    coalesce(m.arrived_ns + m.waited_ns, e.start_ns) AS begin_ns, e.end_ns AS end_ns
}
RETURN rank, what, on_gpu, is_known, collect(begin_ns) AS begin_ns, collect(end_ns) AS end_ns
ORDER BY rank, what, on_gpu, is_known
