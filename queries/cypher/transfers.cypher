// What operations of ranks transfer, and how long that takes, by kind, group and size.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window: what begins in it counts, ns
// @param end_ns INTEGER end of the window, ns
// @column rank INTEGER? rank whose kernels these are, null for operations in which files show several ranks
// @column name STRING? kind of operation, such as `all_reduce`, null where neither file nor name says it
// @column group STRING? name of the process group, where the file states it
// @column size INTEGER? number of ranks of the group, where it is known
// @column ranks STRING? JSON list of ranks of the group, as far as they are known
// @column bytes INTEGER? data of one operation as NCCL's tests count it, B
// @column is_whole BOOLEAN whether all ranks of the group are here, so that the last one to come is known
// @column evidence STRING `recorded`: ids match the members of operations; `inferred`: their order does
// @column transfer_ns LIST of each operation: time of its transfer; of kernels alone waits are in it, ns
// Empty when: no operation of the window is communication between ranks.
// Needs: Kernel or Collective.
// Cost: reads the communication of the window once; lists instead of rows.

CALL () {
  MATCH (e:GpuWork {run: $run, kernel_type: 'communication'})
  WHERE e.start_ns >= $start_ns AND e.start_ns < $end_ns AND NOT EXISTS { (e)-[:MEMBER_OF]->() }
  RETURN e.rank AS rank, e.collective_kind AS name, e.group AS group, e.group_size AS size, e.group_ranks AS ranks,
    e.bytes AS bytes, false AS is_whole, 'recorded' AS evidence, e.end_ns - e.start_ns AS transfer_ns
  UNION ALL
  // `operation >= 0` lets the index find the operations of the run.
  MATCH (o:Collective {run: $run})
  WHERE o.operation >= 0 AND o.rendezvous_ns >= $start_ns AND o.rendezvous_ns < $end_ns
  RETURN null AS rank, o.name AS name, o.group AS group, coalesce(o.size, o.members) AS size, o.ranks AS ranks,
    o.bytes AS bytes, o.missing = '[]' AS is_whole, o.evidence AS evidence, o.end_ns - o.rendezvous_ns AS transfer_ns
}
RETURN rank, name, group, size, ranks, bytes, is_whole, evidence, collect(transfer_ns) AS transfer_ns
ORDER BY rank, name, group, size, ranks, bytes, is_whole, evidence
