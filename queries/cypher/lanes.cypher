// The CPU threads and GPU streams of a run.
// @param run STRING name of the run
// @column lane INTEGER lane id, unique within the run
// @column rank INTEGER rank of the process
// @column kind STRING `thread`, `stream`, or `in short` for what stands for one of a rank in short
// @column name STRING readable name
// @column pid STRING? process id as written in the file
// @column tid STRING? thread id as written in the file
// @column device INTEGER? GPU index of a stream
// @column stream INTEGER? stream id of a stream
// @column matters BOOLEAN whether the path may end on it
// @column longest_ns INTEGER? the longest time that one of its events takes itself, null without events, ns
// Order: lane.
// Empty when: there is no such run.
// Index: needs none.

MATCH (l:Lane {run: $run})
RETURN l.lane AS lane, l.rank AS rank, l.kind AS kind, l.name AS name, l.pid AS pid, l.tid AS tid,
  l.device AS device, l.stream AS stream, coalesce(l.matters, false) AS matters, l.longest_ns AS longest_ns
ORDER BY lane
