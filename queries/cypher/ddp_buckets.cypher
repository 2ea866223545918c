// The buckets in which data-parallel ranks reduce gradients: when each is ready, waits, transfers and is exposed.
// @param run STRING name of the run
// @param rank INTEGER? rank of the process, null for all
// @column rank INTEGER rank of the process
// @column step INTEGER? number of the step, null where there are no steps
// @column pass INTEGER which backward pass of the step it is, counted from 1
// @column bucket INTEGER place of the bucket in the pass, from 0, by when it is ready
// @column elements INTEGER? gradients in it, where the file says it
// @column bytes INTEGER? data of it, where elements and type are known, B
// @column ready_ns INTEGER when the host handed it over: start of its call of `c10d::`, else of what launched it, ns
// @column start_ns INTEGER when that began, ns
// @column end_ns INTEGER when it ended, ns
// @column waited_ns INTEGER? how long it waited for the last rank, null where ranks are missing, ns
// @column transfer_ns INTEGER? how long it then transferred, null where ranks are missing, ns
// @column exposed_ns INTEGER? how long nothing was computed meanwhile, ns
// Order: rank, then ready_ns.
// Empty when: no all-reduce of gradients begins in a backward pass, as with one rank or in tensor parallelism.
// Cost: reads the GPU work of the run once, of one with operations that no GPU runs all events.

// @include off_gpus
CALL (off_gpus) {
  MATCH (e:GpuWork {run: $run}) WHERE e.kernel_type IS NOT NULL AND e.collective_kind = 'all_reduce' RETURN e
  UNION ALL
  WITH off_gpus WHERE off_gpus
  MATCH (e:Event {run: $run}) USING INDEX e:Event(run)
  WHERE NOT e:GpuWork AND e.collective_kind = 'all_reduce'
  RETURN e
}
WITH e WHERE $rank IS NULL OR e.rank = $rank
OPTIONAL MATCH (call:Event)-[:LAUNCHED]->(e)
OPTIONAL MATCH (e)-[m:MEMBER_OF]->()
CALL (e, call) {
  OPTIONAL MATCH (call)-[:CHILD_OF]->+(c10d:CpuOp) WHERE c10d.name STARTS WITH 'c10d::'
  RETURN c10d.start_ns AS called_ns
  UNION
  // Nothing launches work on a back end's thread; what hands over to it ends where the call begins.
  OPTIONAL MATCH (e)<-[:PART_OF]-{0,1}(:Segment)<-[:CROSS_THREAD {mechanism: 'hand-over'}]-(:Segment)
    -[:SEQUENTIAL]->(:Segment)-[:PART_OF]->{0,1}(c10d:CpuOp) WHERE c10d.name STARTS WITH 'c10d::'
  RETURN c10d.start_ns AS called_ns
}
WITH e, m, call, min(called_ns) AS called_ns
WITH collect({event: e, member: m, rank: e.rank, at_ns: coalesce(called_ns, call.start_ns, e.start_ns)}) AS found
CALL (found) {
  UNWIND found AS one RETURN one
  UNION ALL
  MATCH (p:Phase {run: $run}) WHERE p.name IN ['forward', 'backward']
  RETURN {phase: p, rank: p.rank, at_ns: p.start_ns} AS one
}
// Phases of a rank do not overlap: the last that began before a reduction is the only one that may hold it. To
// compare each with each would take minutes on a long run.
WITH one ORDER BY one.rank, one.at_ns, one.phase IS NULL
WITH collect(one) AS both
WITH both, [one IN both WHERE one.phase IS NOT NULL | one.phase] AS phases,
  [place IN range(0, size(both) - 1) WHERE both[place].phase IS NULL] AS places
UNWIND range(0, size(places) - 1) AS before
WITH both[places[before]] AS one, phases[places[before] - before - 1] AS p
WHERE p.rank = one.rank AND p.start_ns <= one.at_ns AND one.at_ns < p.end_ns
WITH p.rank AS rank, collect({phase: p, one: one}) AS inside,
  collect(DISTINCT CASE p.name WHEN 'forward' THEN one.event.bytes END) AS sizes_of_forward
UNWIND inside AS each
WITH each.phase AS p, each.one AS one, sizes_of_forward WHERE p.name = 'backward'
WITH p, sizes_of_forward, one ORDER BY one.at_ns, one.event.source_index
WITH p, sizes_of_forward, collect(one) AS buckets
// What forward passes reduce, too, are activations of tensor parallelism, not gradients.
WHERE any(one IN buckets WHERE one.event.bytes IS NULL OR NOT one.event.bytes IN sizes_of_forward)
WITH p.rank AS rank, p.step AS step, p.occurrence AS pass, buckets
UNWIND range(0, size(buckets) - 1) AS bucket
WITH rank, step, pass, bucket, buckets[bucket].event AS e, buckets[bucket].member AS m,
  buckets[bucket].at_ns AS ready_ns
RETURN rank, step, pass, bucket, e.elements AS elements, e.bytes AS bytes, ready_ns, e.start_ns AS start_ns,
  e.end_ns AS end_ns, m.waited_ns AS waited_ns, m.transfer_ns AS transfer_ns,
  coalesce(m.exposed_wait_ns + m.exposed_transfer_ns, e.exposed_ns) AS exposed_ns
ORDER BY rank, ready_ns, bucket
