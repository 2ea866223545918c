// The names with the most work that is hardly on a window's critical path, and what the path ran on meanwhile.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @param least_ns INTEGER least time off the path of a name that is listed, ns, 1..1000000000000000, default 1
// @param most_on_path FLOAT largest share of their time that is on the path, 0..1, default 0.05
// @param limit INTEGER rows listed, 1..1000, default 10
// @column name STRING name of the events
// @column category STRING Kineto category
// @column accumulated_ns INTEGER all their own time in the window, on the path or not, ns
// @column share FLOAT it as a share of the window, which several lanes at a time may exceed
// @column on_path_ns INTEGER how much of it is on the path, ns
// @column count INTEGER stretches off the path
// @column slack_ns INTEGER? least slack of these: by how much one may end later without lengthening the run, ns
// @column meanwhile STRING? what the path ran on longest during their 20 longest stretches, null where on nothing
// @column meanwhile_category STRING? its Kineto category, `gap` for a wait or gap
// @column meanwhile_lane STRING? readable name of its lane
// @column meanwhile_share FLOAT? share of the time of these stretches in which the path ran on it, 0..1
// Order: accumulated time, longest first, then name and category.
// Empty when: each name with that much work is on the path, too; on one thread all are.
// Cost: where anything is off the path, reads all segments in the window and, of such names, the long ones again.

// @include walk
// @include all_chains
MATCH (c:Chain {run: $run, chain: chain})
WITH collect({chain: chain, exit_ns: exit_ns}) AS chains, ($end_ns - $start_ns) / 1000 + 1 AS piece_ns,
  // What is off the path begins in a chain after the path left it.
  max(exit_ns < c.end_ns AND exit_ns < $end_ns) AS any_off
WITH chains, piece_ns WHERE any_off
CALL (chains, piece_ns) {
  UNWIND chains AS c
  MATCH (s:Segment {run: $run, chain: c.chain})
  WHERE s.start_ns < $end_ns AND s.end_ns > $start_ns
    // Work that takes time: what is no event has no place in the file.
    AND s.end_ns - s.start_ns > 0 AND s.frame IS NOT NULL AND s.source_index IS NOT NULL
  WITH s.name AS name, s.category AS category, s.start_ns >= c.exit_ns AS is_off, s.start_ns / piece_ns AS piece,
    CASE WHEN s.start_ns >= c.exit_ns THEN s.slack_ns END AS slack_ns,
      // @include clipped_length
    AS length_ns
  WITH name, category, is_off, piece, count(*) AS count, min(slack_ns) AS slack_ns, sum(length_ns) AS length_ns,
    max(CASE WHEN is_off THEN length_ns END) AS longest_ns
  ORDER BY longest_ns DESC
  // The 20 longest stretches are no shorter than the longest of each of 20 pieces of the window.
  WITH name, category, sum(CASE WHEN is_off THEN count ELSE 0 END) AS count, min(slack_ns) AS slack_ns,
    sum(CASE WHEN is_off THEN length_ns ELSE 0 END) AS off_ns, sum(length_ns) AS accumulated_ns,
    coalesce(collect(longest_ns)[19], 1) AS long_ns
  WITH *, accumulated_ns - off_ns AS on_path_ns
  WHERE off_ns >= $least_ns AND on_path_ns <= $most_on_path * accumulated_ns
  ORDER BY accumulated_ns DESC, name, category LIMIT $limit
  RETURN collect({name: name, category: category, count: count, slack_ns: slack_ns, on_path_ns: on_path_ns,
    accumulated_ns: accumulated_ns, long_ns: long_ns}) AS listed
}
WITH chains, listed, piece_ns WHERE size(listed) > 0
// The longest stretches of each.
CALL (chains, listed) {
  WITH chains, [one IN listed | one.name] AS names, listed,
    reduce(least = listed[0].long_ns, one IN listed | CASE WHEN one.long_ns < least THEN one.long_ns ELSE least END)
      AS shortest_ns
  UNWIND chains AS c
  MATCH (s:Segment {run: $run, chain: c.chain})
  WHERE s.start_ns >= c.exit_ns AND s.start_ns < $end_ns AND s.end_ns > $start_ns
    AND s.end_ns - s.start_ns >= shortest_ns AND s.frame IS NOT NULL AND s.source_index IS NOT NULL AND s.name IN names
  WITH listed, s.name AS name, s.category AS category, s.lane AS lane,
    CASE WHEN s.start_ns < $start_ns THEN $start_ns ELSE s.start_ns END AS start_ns,
    CASE WHEN s.end_ns > $end_ns THEN $end_ns ELSE s.end_ns END AS end_ns
  WHERE any(one IN listed WHERE one.name = name AND one.category = category AND end_ns - start_ns >= one.long_ns)
  ORDER BY end_ns - start_ns DESC, start_ns, lane
  WITH name, category, collect({start_ns: start_ns, end_ns: end_ns})[..20] AS longest
  UNWIND longest AS stretch
  RETURN collect({name: name, category: category, start_ns: stretch.start_ns, end_ns: stretch.end_ns}) AS stretches
}
// What of the path overlaps with them: both are cut at the same times and meet in the pieces between these.
CALL (chains, stretches, piece_ns) {
  CALL (chains, stretches, piece_ns) {
    UNWIND chains AS way
    MATCH (c:Chain {run: $run, chain: way.chain})
    WITH piece_ns, way, CASE WHEN c.start_ns < $start_ns THEN $start_ns ELSE c.start_ns END AS start_ns
    WHERE start_ns < way.exit_ns
    UNWIND range((start_ns - $start_ns) / piece_ns, (way.exit_ns - 1 - $start_ns) / piece_ns) AS piece
    RETURN piece, {chain: way.chain, start_ns: start_ns, end_ns: way.exit_ns} AS on_path, null AS stretch
  UNION ALL
    UNWIND stretches AS stretch
    UNWIND range((stretch.start_ns - $start_ns) / piece_ns, (stretch.end_ns - 1 - $start_ns) / piece_ns) AS piece
    RETURN piece, null AS on_path, stretch
  }
  WITH $start_ns + piece * piece_ns AS start_ns, $start_ns + (piece + 1) * piece_ns AS end_ns,
    collect(on_path) AS ways, collect(stretch) AS beside
  UNWIND beside AS stretch
  UNWIND ways AS way
  WITH stretch, way,
    reduce(latest = start_ns, at IN [stretch.start_ns, way.start_ns] | CASE WHEN at > latest THEN at ELSE latest END)
      AS start_ns,
    reduce(first = end_ns, at IN [stretch.end_ns, way.end_ns] | CASE WHEN at < first THEN at ELSE first END) AS end_ns
  WHERE start_ns < end_ns
  CALL (way, start_ns) {  // the segments of a chain follow each other: only the last before may reach into it
    MATCH (s:Segment {run: $run, chain: way.chain})
    WHERE s.start_ns <= start_ns AND s.end_ns IS NOT NULL AND s.frame IS NOT NULL
    RETURN s.start_ns AS since_ns ORDER BY s.run DESC, s.chain DESC, s.start_ns DESC, s.end_ns DESC LIMIT 1
  }
  MATCH (s:Segment {run: $run, chain: way.chain})
  WHERE s.start_ns >= since_ns AND s.start_ns < end_ns AND s.end_ns > start_ns AND s.frame IS NOT NULL
  WITH stretch.name AS name, stretch.category AS category, s.name AS meanwhile, s.category AS of, s.lane AS lane,
    sum(CASE WHEN s.end_ns < end_ns THEN s.end_ns ELSE end_ns END
      - CASE WHEN s.start_ns > start_ns THEN s.start_ns ELSE start_ns END) AS overlap_ns
  ORDER BY overlap_ns DESC, meanwhile, of, lane
  WITH name, category, collect({name: meanwhile, category: of, lane: lane, overlap_ns: overlap_ns})[0] AS longest
  RETURN collect({name: name, category: category, longest: longest}) AS overlaps
}
UNWIND listed AS row
WITH row, [one IN overlaps WHERE one.name = row.name AND one.category = row.category | one.longest][0] AS longest,
  reduce(total = 0, one IN [s IN stretches WHERE s.name = row.name AND s.category = row.category]
    | total + one.end_ns - one.start_ns) AS stretches_ns
OPTIONAL MATCH (l:Lane {run: $run, lane: longest.lane})
RETURN row.name AS name, row.category AS category, row.accumulated_ns AS accumulated_ns,
  toFloat(row.accumulated_ns) / ($end_ns - $start_ns) AS share, row.on_path_ns AS on_path_ns, row.count AS count,
  row.slack_ns AS slack_ns, longest.name AS meanwhile, longest.category AS meanwhile_category,
  l.name AS meanwhile_lane, toFloat(longest.overlap_ns) / stretches_ns AS meanwhile_share
ORDER BY accumulated_ns DESC, name, category
