// The named gaps of a window's critical path: time in which no event determines its length.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @param limit INTEGER rows listed, 1..1000000, default 100
// @column name STRING name of the gap
// @column category STRING always `gap`
// @column duration_ns INTEGER time on the path, ns
// @column proportion FLOAT share of the listed rows' total, 0..1
// @column prop_in_total FLOAT share of the path's length, 0..1
// @column count INTEGER stretches on the path
// Order: duration, longest first, then name.
// Empty when: events tile the path.
// Cost: reads the pauses on the path once.
// Index: needs those of a first screen.

// @include walk
// @include walked_chains
MATCH (s:Pause {run: $run, chain: c.chain})
// On a thread only the first of a chain starts after a lag. What is no event has no place in the file.
WHERE s.start_ns <= exit_ns AND s.end_ns > $start_ns
  AND (on_gpu OR s.start_ns = c.start_ns OR s.source_index IS NULL)
  // A segment of no length that ends where the path leaves is on it: the lag before it tells why it started.
  AND CASE s.start_ns WHEN exit_ns THEN s.end_ns = exit_ns ELSE true END
// Two gaps may belong to a pause: itself, when no event runs, and the one before it.
WITH [
  {name: s.name, start_ns: s.start_ns, end_ns: CASE s.kind WHEN 'work' THEN s.start_ns ELSE s.end_ns END},
  {name: s.gap_name, start_ns: coalesce(s.gap_since_ns, s.start_ns), end_ns: s.start_ns}
] AS gaps
UNWIND gaps AS gap
WITH gap.name AS name,
  CASE WHEN gap.start_ns < $start_ns THEN $start_ns ELSE gap.start_ns END AS start_ns,
  CASE WHEN gap.end_ns > $end_ns THEN $end_ns ELSE gap.end_ns END AS end_ns
WHERE start_ns < end_ns
WITH name, 'gap' AS category, sum(end_ns - start_ns) AS duration_ns, count(*) AS count
WITH name, category, duration_ns, count ORDER BY duration_ns DESC, name, category LIMIT $limit
WITH collect({name: name, category: category, duration_ns: duration_ns, count: count}) AS listed
WITH listed, reduce(total = 0, row IN listed | total + row.duration_ns) AS total
UNWIND listed AS row
RETURN row.name AS name, row.category AS category, row.duration_ns AS duration_ns,
  toFloat(row.duration_ns) / total AS proportion,
  toFloat(row.duration_ns) / ($end_ns - $start_ns) AS prop_in_total, row.count AS count
ORDER BY duration_ns DESC, name, category
