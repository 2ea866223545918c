// What the critical path of each step is made of, by name: events and gaps.
// @param run STRING name of the run
// @column rank INTEGER rank of the process
// @column number INTEGER number of the step
// @column name STRING name of the events, or of the gap
// @column category STRING Kineto category, or `gap`
// @column on_gpu BOOLEAN whether it runs on a stream; for a gap, whether it ends there
// @column duration_ns INTEGER time on the step's path, ns
// @column inferred_ns INTEGER how much of it starts by an inferred dependency, ns
// Order: rank, number, duration, longest first, then the names.
// Empty when: the trace has no steps.
// Cost: walks all steps at once and reads a segment once for each step whose path it is on.

// The ends of the paths: as in step_window, the work that ends at the end of a step's window.
MATCH (l:Lane {run: $run})
WITH collect(CASE WHEN l.matters THEN l.lane END) AS lanes,
  collect(CASE l.kind WHEN 'stream' THEN l.lane END) AS streams
MATCH (t:Step {run: $run})
WITH lanes, streams, collect({window: t, rank: t.rank, end_ns: t.window_end_ns, lanes: lanes}) AS windows
// @include step_frames
// @include window_hotspots
RETURN t.rank AS rank, t.number AS number, name, category, on_gpu, duration_ns, inferred_ns
ORDER BY rank, number, duration_ns DESC, name, category, on_gpu
