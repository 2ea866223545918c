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
// Cost: reads the events of the run once.

MATCH (e:Event {run: $run}) WHERE e.collective_kind = 'all_reduce' AND ($rank IS NULL OR e.rank = $rank)
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
WITH collect({event: e, member: m, ready_ns: coalesce(called_ns, call.start_ns, e.start_ns)}) AS found
MATCH (p:Phase {run: $run, name: 'backward'})
WITH found, p,
  [one IN found WHERE one.event.rank = p.rank AND one.ready_ns >= p.start_ns AND one.ready_ns < p.end_ns] AS own,
  COLLECT {
    MATCH (f:Phase {run: $run, name: 'forward', rank: p.rank})
    UNWIND [one IN found WHERE one.event.rank = f.rank AND one.ready_ns >= f.start_ns AND one.ready_ns < f.end_ns] AS one
    RETURN DISTINCT one.event.bytes
  } AS sizes_of_forward
// What forward passes reduce, too, are activations of tensor parallelism, not gradients.
WHERE any(one IN own WHERE one.event.bytes IS NULL OR NOT one.event.bytes IN sizes_of_forward)
UNWIND own AS one
WITH p.rank AS rank, p.step AS step, p.occurrence AS pass, one ORDER BY one.ready_ns, one.event.source_index
WITH rank, step, pass, collect(one) AS buckets
UNWIND range(0, size(buckets) - 1) AS bucket
WITH rank, step, pass, bucket, buckets[bucket].event AS e, buckets[bucket].member AS m,
  buckets[bucket].ready_ns AS ready_ns
RETURN rank, step, pass, bucket, e.elements AS elements, e.bytes AS bytes, ready_ns, e.start_ns AS start_ns,
  e.end_ns AS end_ns, m.waited_ns AS waited_ns, m.transfer_ns AS transfer_ns,
  coalesce(m.exposed_wait_ns + m.exposed_transfer_ns, e.exposed_ns) AS exposed_ns
ORDER BY rank, ready_ns, bucket
