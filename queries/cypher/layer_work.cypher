// What each rank computes and communicates, with the modules and annotations that it was launched in.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: what begins in it counts, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param modules STRING beginning of the names of modules
// @param talking STRING beginnings of names of operators that hand communication over, one a line
// @column rank INTEGER rank of the process
// @column on_gpu BOOLEAN whether it runs on a GPU; of a rank without such work, operators that no other one calls
// @column what STRING `computation`, `communication`, or `wait`: a thread inside an operator, for communication
// @column hands_over BOOLEAN whether it is an operator that hands communication over to a thread
// @column lane INTEGER? lane of operators and of waits, null on a GPU
// @column name STRING name of the kernels or operators
// @column around STRING? modules, annotations and markers of steps that it was launched in, the outermost first, one a line
// @column step LIST of each: number of the step that it was launched in, -1 for none
// @column begin_ns LIST of each: start, ns
// @column end_ns LIST of each: end, ns
// @column launched_ns LIST of each: when its launch began, its own start where no call is known, ns
// @column waited_ns LIST of each: how long it waited for the last rank, -1 where ranks are missing, ns
// @column exposed_ns LIST of each: how much of it no computing hides, -1 where that is not known, ns
// Empty when: nothing ran in the window.
// Cost: reads the GPU work of the window once, of ranks without any their operators; lists instead of rows.

// @include off_gpus
WITH off_gpus, COLLECT {
  MATCH (e:GpuWork {run: $run})
  WHERE e.kernel_type IN ['computation', 'communication'] AND e.start_ns >= $start_ns AND e.start_ns < $end_ns
    AND ($rank IS NULL OR e.rank = $rank)
  RETURN DISTINCT e.rank
} AS on_gpus
WITH off_gpus, COLLECT {
  MATCH (t:Trace {run: $run}) USING INDEX t:Trace(run)
  WHERE NOT t.rank IN on_gpus AND ($rank IS NULL OR t.rank = $rank)
  RETURN t.rank
} AS on_threads
CALL (off_gpus) {
  WITH off_gpus WHERE off_gpus
  MATCH (e:Event {run: $run}) USING INDEX e:Event(run)
  WHERE e.collective_kind IS NOT NULL AND NOT e:GpuWork AND NOT e:CpuOp
    AND e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
  RETURN collect(e) AS of_back_ends
}
CALL (on_threads, off_gpus, of_back_ends) {
  MATCH (e:GpuWork {run: $run, kernel_type: 'computation'})
  WHERE e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
  OPTIONAL MATCH (call:Event)-[:LAUNCHED]->(e)
  RETURN e, call.start_ns AS launched_ns, null AS m, null AS lane, true AS on_gpu, 'computation' AS what,
    false AS hands_over
  UNION ALL
  MATCH (e:GpuWork {run: $run, kernel_type: 'communication'})
  WHERE e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
  OPTIONAL MATCH (call:Event)-[:LAUNCHED]->(e)
  OPTIONAL MATCH (e)-[m:MEMBER_OF]->()
  RETURN e, call.start_ns AS launched_ns, m, null AS lane, true AS on_gpu, 'communication' AS what,
    false AS hands_over
  UNION ALL
  WITH on_threads, off_gpus, split($talking, '\n') AS talking WHERE off_gpus OR size(on_threads) > 0
  MATCH (e:Event {run: $run}) USING INDEX e:Event(run)
  // Looked at only now: a scan by this label would read all runs.
  WITH e, on_threads, off_gpus, talking, e:CpuOp AS is_operator WHERE is_operator
  WITH e, on_threads, talking, e.name AS operator
  WHERE e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
    AND (off_gpus OR e.rank IN on_threads)
  WITH e, on_threads, talking, any(name IN talking WHERE operator STARTS WITH name) AS hands_over
  // A back end copies on its own thread what it sends: that is part of the communication. Autograd functions hand over.
  WHERE (hands_over OR e.rank IN on_threads) AND NOT EXISTS {
    (e)-[:CHILD_OF]->(p) WHERE p.collective_kind IS NOT NULL OR p:CpuOp AND (NOT hands_over
      OR any(name IN talking WHERE p.name STARTS WITH name))
  }
  RETURN e, e.start_ns AS launched_ns, null AS m, e.lane AS lane, false AS on_gpu,
    CASE WHEN hands_over THEN 'communication' ELSE 'computation' END AS what, hands_over
  UNION ALL
  // What a back end does on a thread of its own.
  UNWIND of_back_ends AS e
  OPTIONAL MATCH (e)-[m:MEMBER_OF]->()
  RETURN e, null AS launched_ns, m, null AS lane, false AS on_gpu, 'communication' AS what, false AS hands_over
  UNION ALL
  // An operator that called it may wait for it: that is no computing.
  UNWIND of_back_ends AS b
  MATCH (b)<-[:PART_OF]-{0,1}(:Segment)-[:CROSS_THREAD]->(:Segment)<-[:SEQUENTIAL]-(e:Segment {kind: 'wait'})
    -[:PART_OF]->(:CpuOp)
  RETURN DISTINCT e, null AS launched_ns, null AS m, e.lane AS lane, false AS on_gpu, 'wait' AS what,
    false AS hands_over
}
// An event that is cut has pieces instead of a frame, all of them inside the same modules and annotations.
WITH e.rank AS rank, on_gpu, what, hands_over, lane, e.name AS name, CASE
    WHEN launched_ns IS NULL THEN null
    WHEN e:Segment THEN e.frame
    ELSE head(COLLECT { MATCH (piece:Segment)-[:PART_OF]->(e) RETURN piece.frame LIMIT 1 })
  END AS frame,
  collect(coalesce(e.step, -1)) AS step, collect(e.start_ns) AS begin_ns, collect(e.end_ns) AS end_ns,
  collect(coalesce(launched_ns, e.start_ns)) AS launched_ns, collect(coalesce(m.waited_ns, -1)) AS waited_ns,
  collect(coalesce(m.exposed_wait_ns + m.exposed_transfer_ns, e.exposed_ns, -1)) AS exposed_ns
CALL (frame) {
  // All steps are one name here, which tells no layers apart.
  MATCH (:Frame {run: $run, frame: frame})-[:CALLED_FROM*0..]->(outer:Frame)
  WHERE outer.name STARTS WITH $modules OR outer.category = 'user_annotation'
  WITH outer.name AS name ORDER BY outer.depth
  RETURN collect(name) AS names
}
RETURN rank, on_gpu, what, hands_over, lane, name,
  CASE WHEN size(names) > 0 THEN reduce(joined = names[0], one IN names[1..] | joined + '\n' + one) END AS around,
  step, begin_ns, end_ns, launched_ns, waited_ns, exposed_ns
ORDER BY rank, on_gpu, what, hands_over, lane, name, around, frame
