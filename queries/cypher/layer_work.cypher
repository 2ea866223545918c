// What each rank computes and communicates, with the modules and annotations that it was launched in.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: what begins in it counts, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param modules STRING beginning of the names of modules
// @param talking STRING beginnings of names of operators that hand communication over, one a line
// @column rank INTEGER rank of the process
// @column on_gpu BOOLEAN whether it runs on a GPU; without one, operators that no other one calls
// @column what STRING `computation`, `communication`, or `wait`: a thread inside an operator, for communication
// @column hands_over BOOLEAN whether it is an operator that hands communication over to a thread
// @column lane INTEGER? lane of operators and of waits, null on a GPU
// @column name STRING name of the kernels or operators
// @column step INTEGER? number of the step that it was launched in
// @column around STRING? names of the modules and annotations that it was launched in, the outermost first, one a line
// @column begin_ns LIST of each: start, ns
// @column end_ns LIST of each: end, ns
// @column launched_ns LIST of each: when its launch began, its own start where no call is known, ns
// @column waited_ns LIST of each: how long it waited for the last rank, -1 where ranks are missing, ns
// @column exposed_ns LIST of each: how much of it no computing hides, -1 where that is not known, ns
// Empty when: nothing ran in the window.
// Cost: reads the work of the window, and what each was launched in, once; lists instead of rows.

CALL () {
  MATCH (e:Event {run: $run})
  WHERE e.kernel_type IN ['computation', 'communication'] AND e.start_ns >= $start_ns AND e.start_ns < $end_ns
    AND ($rank IS NULL OR e.rank = $rank)
  OPTIONAL MATCH (call:Event)-[:LAUNCHED]->(e)
  RETURN e, call, null AS lane, true AS on_gpu, e.kernel_type AS what, false AS hands_over
  UNION ALL
  MATCH (e:Event:CpuOp {run: $run})
  WHERE e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
  WITH e, any(name IN split($talking, '\n') WHERE e.name STARTS WITH name) AS hands_over
  // A back end copies on its own thread what it sends: that is part of the communication. Autograd functions hand over.
  WHERE NOT EXISTS {
    (e)-[:CHILD_OF]->(p) WHERE p.collective_kind IS NOT NULL OR p:CpuOp AND (NOT hands_over
      OR any(name IN split($talking, '\n') WHERE p.name STARTS WITH name))
  }
  RETURN e, e AS call, e.lane AS lane, false AS on_gpu,
    CASE WHEN hands_over THEN 'communication' ELSE 'computation' END AS what, hands_over
  UNION ALL
  // What a back end does on a thread of its own.
  MATCH (e:Event {run: $run})
  WHERE e.collective_kind IS NOT NULL AND e.kernel_type IS NULL AND NOT e:CpuOp
    AND e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
  RETURN e, null AS call, null AS lane, false AS on_gpu, 'communication' AS what, false AS hands_over
  UNION ALL
  // An operator that called it may wait for it: that is no computing.
  MATCH (m:Event {run: $run})
  WHERE m.collective_kind IS NOT NULL AND m.kernel_type IS NULL AND NOT m:CpuOp
    AND m.start_ns >= $start_ns AND m.start_ns < $end_ns AND ($rank IS NULL OR m.rank = $rank)
  MATCH (m)<-[:PART_OF]-{0,1}(:Segment)-[:CROSS_THREAD]->(:Segment)<-[:SEQUENTIAL]-(e:Segment {kind: 'wait'})
    -[:PART_OF]->(:CpuOp)
  RETURN DISTINCT e, null AS call, e.lane AS lane, false AS on_gpu, 'wait' AS what, false AS hands_over
}
OPTIONAL MATCH (e)-[m:MEMBER_OF]->()
CALL (call) {
  OPTIONAL MATCH (call)-[:CHILD_OF]->+(outer:Event)
  WHERE outer.name STARTS WITH $modules OR outer:Annotation
  WITH outer ORDER BY outer.start_ns, outer.source_index
  RETURN collect(outer.name) AS names
}
WITH e, m, lane, on_gpu, what, hands_over, coalesce(call.start_ns, e.start_ns) AS launched_ns, CASE
    WHEN size(names) > 0 THEN reduce(joined = names[0], name IN names[1..] | joined + '\n' + name)
  END AS around
ORDER BY launched_ns, e.start_ns, e.source_index
RETURN e.rank AS rank, on_gpu, what, hands_over, lane, e.name AS name, e.step AS step, around,
  collect(e.start_ns) AS begin_ns, collect(e.end_ns) AS end_ns, collect(launched_ns) AS launched_ns,
  collect(coalesce(m.waited_ns, -1)) AS waited_ns,
  collect(coalesce(m.exposed_wait_ns + m.exposed_transfer_ns, e.exposed_ns, -1)) AS exposed_ns
ORDER BY rank, on_gpu, what, hands_over, lane, name, step, around
