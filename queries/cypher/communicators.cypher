// The communicators that a log of NCCL names, with their network and channels.
// @param run STRING name of the run
// @column comm_id STRING NCCL's id of it; before NCCL 2.17 a name by its size and order
// @column ranks INTEGER number of its ranks
// @column members INTEGER number of its ranks whose lines are here
// @column nodes INTEGER? number of nodes that its ranks are on, where that is known
// @column version STRING? version of NCCL
// @column channels INTEGER? channels that its collectives use
// @column network STRING? network that NCCL uses between nodes, such as `IB` or `Socket`
// @column infiniband BOOLEAN? whether NCCL found a card of InfiniBand, where it says so
// @column evidence STRING `recorded`: its id is stated; `inferred`: its size and order tell it
// @column confidence FLOAT how sure that is, 0..1
// Order: ranks, the most first, then comm_id.
// Empty when: no log of NCCL was given with the run: tracegraph attach RUN FILE.

MATCH (c:Communicator {run: $run})
RETURN c.comm_id AS comm_id, c.ranks AS ranks, c.members AS members, c.nodes AS nodes, c.version AS version,
  c.channels AS channels, c.network AS network, c.infiniband AS infiniband, c.evidence AS evidence,
  c.confidence AS confidence
ORDER BY ranks DESC, comm_id
