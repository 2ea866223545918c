// The events that determine most of a window's length, by name and category, and how they rank by all their work.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @param limit INTEGER rows listed, 1..1000000, default 10
// @column name STRING name of the events
// @column category STRING Kineto category
// @column duration_ns INTEGER time on the path, ns
// @column proportion FLOAT share of the listed rows' total, 0..1
// @column prop_in_total FLOAT share of the path's length, 0..1
// @column count INTEGER distinct events on the path
// @column accumulated_ns INTEGER all their own time in the window, on the path or not, ns
// @column accumulated_place INTEGER place by it among all names in the window, 1 the largest; steps are one
// Order: duration, longest first, then name and category.
// Empty when: the path holds gaps only.
// Cost: reads all segments in the window once, mostly from the index.

// @include walk
// @include all_chains
WITH collect({chain: chain, exit_ns: exit_ns}) AS chains
// @include step_frames
// @include is_whole
// By frame, as numbers are compared faster than names, and the index holds them; only a step's does not tell its name.
CALL (chains, step_frames, is_whole) {
  UNWIND chains AS one
  WITH step_frames, is_whole, one.chain AS chain, one.exit_ns AS exit_ns
  MATCH (s:Segment {run: $run, chain: chain})
  WHERE s.start_ns < exit_ns AND s.end_ns > $start_ns AND s.end_ns - s.start_ns > 0 AND s.frame IS NOT NULL
  WITH s, is_whole, CASE WHEN s.frame IN step_frames THEN s.name END AS step
  // To tell events apart takes longer than all else; for the whole run frames know their number.
  WITH s.frame AS frame, step,
    count(DISTINCT CASE WHEN is_whole AND step IS NULL THEN null ELSE s.source_index END) AS count,
    sum(
      // @include clipped_length
    ) AS duration_ns
  RETURN frame, step, count, duration_ns, duration_ns AS accumulated_ns
UNION ALL
  UNWIND chains AS one
  WITH step_frames, one.chain AS chain, one.exit_ns AS exit_ns
  MATCH (s:Segment {run: $run, chain: chain})
  WHERE s.start_ns >= exit_ns AND s.start_ns < $end_ns AND s.end_ns > $start_ns AND s.end_ns - s.start_ns > 0
    AND s.frame IS NOT NULL
  RETURN s.frame AS frame, CASE WHEN s.frame IN step_frames THEN s.name END AS step, 0 AS count, 0 AS duration_ns,
    sum(
      // @include clipped_length
    ) AS accumulated_ns
}
WITH is_whole, frame, step, sum(count) AS count, sum(duration_ns) AS duration_ns, sum(accumulated_ns) AS accumulated_ns
MATCH (f:Frame {run: $run, frame: frame}) WHERE f.category <> 'gap'
WITH f.name AS placed, coalesce(step, f.name) AS name, f.category AS category, sum(duration_ns) AS duration_ns,
  sum(CASE WHEN is_whole AND step IS NULL THEN f.path_events ELSE count END) AS count,
  sum(accumulated_ns) AS accumulated_ns
WITH placed, category,
  sum(accumulated_ns) AS together_ns,
  collect({name: name, duration_ns: duration_ns, count: count, accumulated_ns: accumulated_ns}) AS parts
ORDER BY together_ns DESC, placed, category
WITH collect({category: category, parts: parts}) AS placed
UNWIND range(0, size(placed) - 1) AS before
UNWIND placed[before].parts AS part
// Sums are new rows: any other carries the whole list, and the server counts it in each row that it sorts.
WITH before + 1 AS accumulated_place, placed[before].category AS category, part.name AS name,
  sum(part.duration_ns) AS duration_ns, sum(part.count) AS count, sum(part.accumulated_ns) AS accumulated_ns
WHERE duration_ns > 0
WITH name, category, duration_ns, count, accumulated_ns, accumulated_place
ORDER BY duration_ns DESC, name, category LIMIT $limit
WITH collect({name: name, category: category, duration_ns: duration_ns, count: count, accumulated_ns: accumulated_ns,
  accumulated_place: accumulated_place}) AS listed, sum(duration_ns) AS total
UNWIND listed AS row
RETURN row.name AS name, row.category AS category, row.duration_ns AS duration_ns,
  toFloat(row.duration_ns) / total AS proportion, toFloat(row.duration_ns) / ($end_ns - $start_ns) AS prop_in_total,
  row.count AS count, row.accumulated_ns AS accumulated_ns, row.accumulated_place AS accumulated_place
ORDER BY duration_ns DESC, name, category
