// All call stacks of a run as one tree of frames.
// @param run STRING name of the run
// @column rank INTEGER rank of the process
// @column category STRING Kineto category, `thread` or `stream` for a lane, `gap` for a wait or gap
// @column frame LIST of each: frame id
// @column parent LIST of each: id of the frame that called it, -1 for the root of a lane
// @column depth LIST of each: number of calls between the root and it
// @column name LIST of each: name of the events, of the lane or of the gap
// Empty when: there is no such run.
// Cost: reads the frames of the run once; lists instead of rows.

// `frame >= 0` lets the index on (run, frame) find the frames of the run.
MATCH (f:Frame {run: $run}) WHERE f.frame >= 0
RETURN f.rank AS rank, f.category AS category, collect(f.frame) AS frame, collect(coalesce(f.parent, -1)) AS parent,
  collect(f.depth) AS depth, collect(f.name) AS name
ORDER BY rank, category
