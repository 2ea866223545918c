// How long each rank of a job is in gaps and waits in a window (of a step, in its own), on the path or not.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @column rank INTEGER rank of the process
// @column name STRING name of the gap or wait
// @column duration_ns INTEGER its time in the window, on all lanes that work for 1 % of it or more, ns
// Order: rank, duration, longest first, then name.
// Empty when: the run is of one rank.
// Cost: reads all segments in the window once.

// @include own_steps
CALL (own) {
  MATCH (l:Lane {run: $run})
  WITH collect(DISTINCT l.rank) AS ranks, collect(CASE l.kind WHEN 'stream' THEN l.lane END) AS streams
  WHERE size(ranks) > 1
  RETURN streams
}
CALL (own, streams) {
  // @include chains_of_ranks
  MATCH (s:Segment {run: $run, chain: c.chain})
  WHERE s.start_ns < end_ns AND s.end_ns > start_ns AND s.end_ns - s.start_ns > 0 AND s.frame IS NOT NULL
  // What is no event has no place in the file.
  RETURN c.rank AS rank, c.lane AS lane, CASE WHEN s.source_index IS NULL THEN s.name END AS name, sum(
    // @include clipped_on_rank
  ) AS duration_ns
UNION ALL
  // The lag between a cause and the start: on a thread only the first of a chain has one.
  CALL (own, streams) {
    // @include chains_of_ranks
    MATCH (c)<-[d:LEADS_TO]-()
    RETURN c, start_ns, end_ns, c.start_ns AS begins_ns, d
  UNION ALL
    // @include chains_of_ranks
    WITH c, start_ns, end_ns WHERE c.lane IN streams
    MATCH (s:Pause {run: $run, chain: c.chain})
    WHERE s.start_ns > c.start_ns AND s.end_ns IS NOT NULL
    MATCH (s)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD WHERE d.binding]-()
    RETURN c, start_ns, end_ns, s.start_ns AS begins_ns, d
  }
  WITH c, start_ns, end_ns, begins_ns, d, d.gap_ns AS gap_ns
  WHERE begins_ns > start_ns AND gap_ns > 0 AND begins_ns - gap_ns < end_ns
  RETURN c.rank AS rank, c.lane AS lane, coalesce(d.gap_name, 'unknown') AS name, sum(
    CASE WHEN begins_ns > end_ns THEN end_ns ELSE begins_ns END
    - CASE WHEN begins_ns - gap_ns < start_ns THEN start_ns ELSE begins_ns - gap_ns END
  ) AS duration_ns
}
WITH rank, lane, collect({name: name, duration_ns: duration_ns}) AS parts,
  sum(CASE WHEN name IS NULL THEN duration_ns ELSE 0 END) AS work_ns
WHERE work_ns >= 0.01 * ($end_ns - $start_ns)
UNWIND parts AS part
WITH rank, part WHERE part.name IS NOT NULL
RETURN rank, part.name AS name, sum(part.duration_ns) AS duration_ns
ORDER BY rank, duration_ns DESC, name
