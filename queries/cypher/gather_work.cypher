// The gathers of each rank, with what they were launched in, and the work that a dependency makes wait for each.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: what begins in it counts, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param waits STRING mechanisms by which work of another stream waits for a gather, one a line
// @column rank INTEGER rank of the process
// @column on_gpu BOOLEAN whether it is a kernel; else a back end runs it on a thread
// @column step INTEGER? number of the step that it was launched in
// @column around LIST names of the annotations that it was launched in, the outermost first
// @column bytes INTEGER? data of it, where elements and type are known, B
// @column launched_ns INTEGER? start of the call that launched it, ns
// @column begins_ns INTEGER its start, ns
// @column ends_ns INTEGER its end, ns
// @column exposed_ns INTEGER? how much of it no computing hides, ns
// @column use_ns INTEGER? start of the first work that waits for it, ns
// @column use_launched_ns INTEGER? start of the call that launched that work, ns
// @column ready_ns INTEGER? when the stream of that work had nothing else left and it was launched, ns
// @column evidence STRING? `recorded` or `inferred`: how that wait is known
// Order: rank, then start.
// Empty when: no gather begins in the window.
// Cost: reads the gathers of the window once.

// @include off_gpus
CALL (off_gpus) {
  MATCH (e:GpuWork {run: $run}) WHERE e.kernel_type IS NOT NULL AND e.collective_kind = 'all_gather' RETURN e
  UNION ALL
  WITH off_gpus WHERE off_gpus
  MATCH (e:Event {run: $run}) USING INDEX e:Event(run)
  WHERE NOT e:GpuWork AND e.collective_kind = 'all_gather' AND NOT e:CpuOp
  RETURN e
}
WITH e WHERE e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
OPTIONAL MATCH (call:Event)-[:LAUNCHED]->(e)
OPTIONAL MATCH (e)-[m:MEMBER_OF]->()
CALL (call) {
  OPTIONAL MATCH (call)-[:CHILD_OF]->+(outer:Annotation)
  WITH outer ORDER BY outer.start_ns, outer.source_index
  RETURN collect(outer.name) AS names
}
CALL (e) {
  OPTIONAL MATCH (e)<-[:PART_OF]-{0,1}(:Segment)-[d:SYNCHRONIZATION]->(:Segment)-[:PART_OF]->{0,1}(k:Event)
  WHERE d.mechanism IN split($waits, '\n') AND k:GpuWork AND k.start_ns >= e.end_ns
  OPTIONAL MATCH (by:Event)-[:LAUNCHED]->(k)
  RETURN k, by, d.evidence AS evidence ORDER BY k.start_ns, k.source_index LIMIT 1
}
// @include work_ready
RETURN e.rank AS rank, e:GpuWork AS on_gpu, e.step AS step, names AS around, e.bytes AS bytes,
  call.start_ns AS launched_ns, e.start_ns AS begins_ns, e.end_ns AS ends_ns,
  coalesce(m.exposed_wait_ns + m.exposed_transfer_ns, e.exposed_ns) AS exposed_ns, k.start_ns AS use_ns,
  by.start_ns AS use_launched_ns, ready_ns, evidence
ORDER BY rank, begins_ns, ends_ns
