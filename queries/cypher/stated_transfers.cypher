// What files other than traces say of operations between ranks: times, NCCL's own model of them, calls.
// @param run STRING name of the run
// @column source STRING who says it: `nccl-tests`, `NCCL's table`, `NCCL's choices` or `NCCL's calls`
// @column comm_id STRING? the communicator
// @column kind STRING kind of operation, such as `all_reduce`
// @column ranks INTEGER? number of ranks that take part
// @column nodes INTEGER? number of nodes that its ranks are on, where that is known
// @column algorithm STRING? NCCL's algorithm, such as `ring`
// @column protocol STRING? NCCL's protocol, such as `simple`
// @column bytes INTEGER? data of one operation, counted as NCCL's tests do, B
// @column time_ns INTEGER? measured time of one operation, ns
// @column in_place BOOLEAN? of NCCL's tests: whether result and input share their memory
// @column channels INTEGER? of NCCL's choices: channels that the calls use
// @column count INTEGER? number of calls; of NCCL's calls those of each rank count
// @column latency_ns INTEGER? of NCCL's table: time of an operation of no bytes, ns
// @column bandwidth FLOAT? of NCCL's table: data by the time beyond the latency, B/s
// Order: source, comm_id, kind, algorithm, protocol, bytes, in_place.
// Empty when: neither a log of NCCL nor output of its tests was given with the run.
// Needs: Transfer.

MATCH (t:Transfer {run: $run})
RETURN t.source AS source, t.comm_id AS comm_id, t.kind AS kind, t.ranks AS ranks, t.nodes AS nodes,
  t.algorithm AS algorithm, t.protocol AS protocol, t.bytes AS bytes, t.time_ns AS time_ns,
  t.in_place AS in_place, t.channels AS channels, t.count AS count, t.latency_ns AS latency_ns,
  t.bandwidth AS bandwidth
ORDER BY source, comm_id, kind, algorithm, protocol, bytes, in_place
