// The channels of NCCL's communicators: their rings, their trees, and how ranks are connected.
// @param run STRING name of the run
// @column comm_id STRING the communicator
// @column number INTEGER number of the channel
// @column ring STRING? JSON list: its ranks in the order of the ring, where the log says it
// @column tree STRING? JSON object: the parent of each rank in its tree, -1 of the root
// @column transport STRING? how ranks are connected, such as `P2P/direct pointer` or `NET/IB/0`
// @column connections INTEGER number of connections that use it, each in one direction
// Order: comm_id, number, transport.
// Empty when: no log of NCCL with the subsystem GRAPH was given with the run.

MATCH (c:Channel {run: $run})
RETURN c.comm_id AS comm_id, c.number AS number, c.ring AS ring, c.tree AS tree, c.transport AS transport,
  c.connections AS connections
ORDER BY comm_id, number, transport
