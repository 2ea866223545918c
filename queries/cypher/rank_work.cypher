// What each rank works on in a window (of a step, in its own), by name: on the critical path or not.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @column rank INTEGER rank of the process
// @column name STRING name of the events, all steps are their marker, such as `ProfilerStep#`
// @column category STRING Kineto category
// @column is_collective BOOLEAN whether events of this name take part in operations of several ranks
// @column duration_ns INTEGER their own time in the window, ns
// @column count INTEGER number of stretches of work
// Order: rank, duration, longest first, then name and category.
// Empty when: no work lies in the window.
// Cost: reads all segments in the window once, from the index.

// @include own_steps
// @include chains_of_ranks
MATCH (s:Segment {run: $run, chain: c.chain})
WHERE s.start_ns < end_ns AND s.end_ns > start_ns
  AND s.end_ns - s.start_ns > 0 AND s.frame IS NOT NULL
WITH s.frame AS frame, count(*) AS count,
  sum(
    // @include clipped_on_rank
  ) AS duration_ns
WITH collect({frame: frame, count: count, duration_ns: duration_ns}) AS sums
// `operation >= 0` lets the index find the operations of the run.
OPTIONAL MATCH (o:Collective {run: $run}) WHERE o.operation >= 0
OPTIONAL MATCH (o)<-[:MEMBER_OF]-(e:Event)
WITH sums, collect(DISTINCT e.name) AS members
UNWIND sums AS one
MATCH (f:Frame {run: $run, frame: one.frame}) WHERE f.category <> 'gap'
RETURN f.rank AS rank, f.name AS name, f.category AS category, f.name IN members AS is_collective,
  sum(one.duration_ns) AS duration_ns, sum(one.count) AS count
ORDER BY rank, duration_ns DESC, name, category
