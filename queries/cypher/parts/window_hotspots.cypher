// What the paths of several windows are made of. `windows`: each a node with start_ns and window_end_ns, its rank,
// its end_ns, and the lanes that may end it, all of which are among `lanes`. Needs `step_frames`. Gives for each node t
// the sums of its path by name.
// The chains in which they end: both are told apart by pieces of the time first, as there may be thousands of either.
CALL (lanes) {  // `chain >= 0` lets the index on (run, chain) find the chains of the run
  MATCH (c:Chain {run: $run}) WHERE c.chain >= 0 AND c.lane IN lanes
  RETURN collect(c) AS chains, (max(c.end_ns) - min(c.start_ns)) / 1000 + 1 AS piece_ns
}
CALL (windows, chains, piece_ns) {
  UNWIND chains AS c
  UNWIND range(c.start_ns / piece_ns, c.end_ns / piece_ns) AS piece
  RETURN piece, c, null AS end
UNION ALL
  UNWIND windows AS end
  RETURN end.end_ns / piece_ns AS piece, null AS c, end
}
WITH streams, step_frames, piece, collect(c) AS chains, collect(end) AS ends WHERE size(ends) > 0
UNWIND chains AS c
UNWIND [t IN ends WHERE t.end_ns > c.start_ns AND t.end_ns <= c.end_ns AND t.rank = c.rank
  AND c.lane IN t.lanes] AS end
CALL (c, end) {  // the segments of a chain follow each other: the last that begins before may end there
  MATCH (s:Segment {run: $run, chain: c.chain})
  WHERE s.start_ns < end.end_ns AND s.end_ns IS NOT NULL AND s.frame IS NOT NULL
  RETURN s ORDER BY s.run DESC, s.chain DESC, s.start_ns DESC, s.end_ns DESC LIMIT 1
}
WITH streams, step_frames, end, s WHERE s.end_ns = end.end_ns
WITH streams, step_frames, end.window AS t, s
ORDER BY CASE s.kind WHEN 'work' THEN 0 WHEN 'wait' THEN 1 ELSE 2 END, s.lane, s.chain
WITH streams, step_frames, t, head(collect(s.chain)) AS chain

// The walk, as in critical_path, for every window.
MATCH (last:Chain {run: $run, chain: chain})
MATCH (last)((effect WHERE effect.start_ns > t.start_ns)<-[:LEADS_TO]-()){0,}(link)
WITH DISTINCT streams, step_frames, t, chain, link
OPTIONAL MATCH (cause:Chain)-[hop:LEADS_TO]->(link) WHERE link.start_ns > t.start_ns
WITH streams, step_frames, t, chain,
  collect(CASE WHEN hop IS NOT NULL THEN {chain: cause.chain, exit_ns: hop.at_ns} END) AS exits
UNWIND exits + [{chain: chain, exit_ns: t.window_end_ns}] AS exit
MATCH (c:Chain {run: $run, chain: exit.chain})
WITH step_frames, c, c.lane IN streams AS on_gpu, t, exit.exit_ns AS exit_ns,
  t.start_ns AS start_ns, t.window_end_ns AS end_ns,
  CASE WHEN c.start_ns > t.start_ns THEN c.start_ns ELSE coalesce(head(COLLECT {
    MATCH (open:Segment {run: $run, chain: c.chain}) WHERE open.start_ns <= t.start_ns AND open.end_ns IS NOT NULL
      AND open.frame IS NOT NULL
    WITH open ORDER BY open.run DESC, open.chain DESC, open.start_ns DESC, open.end_ns DESC LIMIT 1
    RETURN CASE WHEN open.end_ns > t.start_ns THEN open.start_ns END
  }), t.start_ns) END AS from_ns
// Two stretches may belong to a segment: itself, and the lag between its cause and its start, see path_gaps.
CALL (step_frames, c, on_gpu, exit_ns, start_ns, end_ns, from_ns) {
  MATCH (s:Segment {run: $run, chain: c.chain})
  WHERE s.start_ns >= from_ns AND s.start_ns < exit_ns AND s.end_ns > start_ns AND s.frame IS NOT NULL
  // None ends after the exit: what is left at its end is complete there, and waits are left at their start.
  RETURN s.frame AS frame, CASE WHEN s.frame IN step_frames THEN s.name END AS name, null AS category, 0 AS inferred_ns,
    sum(s.end_ns - s.start_ns - CASE WHEN s.start_ns < start_ns THEN start_ns - s.start_ns ELSE 0 END) AS duration_ns
UNION ALL
  MATCH (s:Segment {run: $run, chain: c.chain})
  // On a thread only the first of a chain has a lag or another cause than the order of the program.
  WHERE s.start_ns > start_ns AND s.start_ns <= CASE WHEN on_gpu THEN exit_ns ELSE c.start_ns END
    AND s.end_ns IS NOT NULL AND s.frame IS NOT NULL
    // A segment of no length that ends where the path leaves is on it: the lag before it tells why it started.
    AND CASE s.start_ns WHEN exit_ns THEN s.end_ns = exit_ns ELSE true END
  OPTIONAL MATCH (s)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD WHERE d.binding]-(before:Segment)
  WITH s.name AS name, s.category AS category, coalesce(d.gap_name, 'unknown') AS lag, d.evidence = 'inferred' AS inferred,
    CASE WHEN s.end_ns > end_ns THEN end_ns ELSE s.end_ns END - s.start_ns AS own_ns, s.start_ns AS until_ns,
    CASE
      WHEN d IS NULL THEN start_ns
      WHEN before.chain = s.chain THEN before.end_ns
      ELSE s.start_ns - d.gap_ns
    END AS since_ns
  WITH name, category, lag, inferred, own_ns, since_ns > start_ns AS is_inside,
    until_ns - CASE WHEN since_ns < start_ns THEN start_ns ELSE since_ns END AS lag_ns
  // Summed up before it is told apart: there are many segments, and few names.
  WITH name, category, lag, sum(CASE WHEN inferred THEN own_ns ELSE 0 END) AS own_inferred_ns,
    sum(CASE WHEN lag_ns > 0 THEN lag_ns ELSE 0 END) AS lag_ns,
    sum(CASE WHEN lag_ns > 0 AND inferred AND is_inside THEN lag_ns ELSE 0 END) AS lag_inferred_ns
  UNWIND [[name, category, own_inferred_ns, 0], [lag, 'gap', lag_inferred_ns, lag_ns]] AS sums
  RETURN null AS frame, sums[0] AS name, sums[1] AS category, sum(sums[2]) AS inferred_ns, sum(sums[3]) AS duration_ns
} IN CONCURRENT TRANSACTIONS OF 20 ROWS  // one core reads one transaction
// Each frame is looked up once, not for each window.
WITH frame, collect([t, on_gpu, name, category, duration_ns, inferred_ns]) AS sums
OPTIONAL MATCH (f:Frame {run: $run, frame: frame})
WITH sums, f.name AS frame_name, f.category AS frame_category
UNWIND sums AS one
WITH one[0] AS t, one[1] AS on_gpu, coalesce(one[2], frame_name) AS name, coalesce(one[3], frame_category) AS category,
  sum(one[4]) AS duration_ns, sum(one[5]) AS inferred_ns
WHERE duration_ns > 0
