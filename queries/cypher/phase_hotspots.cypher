// What the critical paths of all phases of a name are made of, on each rank: events and gaps.
// @param run STRING name of the run
// @column rank INTEGER rank of the process
// @column phase STRING name of the phases
// @column name STRING name of the events, or of the gap
// @column category STRING Kineto category, or `gap`
// @column on_gpu BOOLEAN whether it runs on a stream; for a gap, whether it ends there
// @column phases INTEGER number of phases that have it on their path
// @column duration_ns INTEGER time on the paths of all these phases, ns
// @column inferred_ns INTEGER how much of it starts by an inferred dependency, ns
// Order: rank, phase, duration, longest first, then the names.
// Empty when: the run has no phases.
// Cost: walks all phases at once and reads a segment once for each phase whose path it is on.

// The ends of the paths: as in phase_window, the work that ends at the end of a phase's window.
MATCH (l:Lane {run: $run})
WITH collect(CASE l.kind WHEN 'stream' THEN l.lane END) AS streams
MATCH (t:Phase {run: $run})
WITH streams, t, CASE WHEN t.window_end_ns > t.end_ns THEN streams ELSE [t.lane, t.end_lane] + streams END AS ends
WITH streams, collect({window: t, rank: t.rank, end_ns: t.window_end_ns, lanes: ends}) AS windows,
  streams + collect(DISTINCT t.lane) + collect(DISTINCT t.end_lane) AS lanes
// @include step_frames
// @include window_hotspots
RETURN t.rank AS rank, t.name AS phase, name, category, on_gpu, count(t) AS phases, sum(duration_ns) AS duration_ns,
  sum(inferred_ns) AS inferred_ns
ORDER BY rank, phase, duration_ns DESC, name, category, on_gpu
