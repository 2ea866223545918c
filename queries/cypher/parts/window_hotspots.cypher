// What the paths of several windows are made of. `windows`: each a node with start_ns and window_end_ns, its rank,
// its end_ns, and the lanes that may end it, all of which are among `lanes`. Gives for each node t the sums of its path
// by name.
// `chain >= 0` lets the index on (run, chain) find the chains of the run.
MATCH (c:Chain {run: $run}) WHERE c.chain >= 0 AND c.lane IN lanes
UNWIND [t IN windows WHERE t.end_ns > c.start_ns AND t.end_ns <= c.end_ns AND t.rank = c.rank
  AND c.lane IN t.lanes] AS end
CALL (c, end) {  // the segments of a chain follow each other: the last that begins before may end there
  MATCH (s:Segment {run: $run, chain: c.chain}) WHERE s.start_ns < end.end_ns AND s.end_ns IS NOT NULL
  RETURN s ORDER BY s.run DESC, s.chain DESC, s.start_ns DESC, s.end_ns DESC LIMIT 1
}
WITH streams, end, s WHERE s.end_ns = end.end_ns
WITH streams, end.window AS t, s
ORDER BY CASE s.kind WHEN 'work' THEN 0 WHEN 'wait' THEN 1 ELSE 2 END, s.lane, s.chain
WITH streams, t, head(collect(s.chain)) AS chain

// The walk, as in critical_path, for every window.
MATCH (sink:Chain {run: $run, chain: chain})
MATCH (sink)((effect WHERE effect.start_ns > t.start_ns)<-[:LEADS_TO]-()){0,}(link)
WITH DISTINCT streams, t, chain, link
OPTIONAL MATCH (cause:Chain)-[hop:LEADS_TO]->(link) WHERE link.start_ns > t.start_ns
WITH streams, t, chain,
  collect(CASE WHEN hop IS NOT NULL THEN {chain: cause.chain, exit_ns: hop.at_ns} END) AS exits
UNWIND exits + [{chain: chain, exit_ns: t.window_end_ns}] AS exit
MATCH (c:Chain {run: $run, chain: exit.chain})
WITH c, c.lane IN streams AS on_gpu, t, exit.exit_ns AS exit_ns,
  t.start_ns AS start_ns, t.window_end_ns AS end_ns,
  CASE WHEN c.start_ns > t.start_ns THEN c.start_ns ELSE coalesce(head(COLLECT {
    MATCH (open:Segment {run: $run, chain: c.chain}) WHERE open.start_ns <= t.start_ns AND open.end_ns IS NOT NULL
    WITH open ORDER BY open.run DESC, open.chain DESC, open.start_ns DESC, open.end_ns DESC LIMIT 1
    RETURN CASE WHEN open.end_ns > t.start_ns THEN open.start_ns END
  }), t.start_ns) END AS from_ns
// Two stretches may belong to a segment: itself, and the lag between its cause and its start, see path_gaps.
CALL (c, on_gpu, exit_ns, start_ns, end_ns, from_ns) {
  MATCH (s:Segment {run: $run, chain: c.chain})
  WHERE s.start_ns >= from_ns AND s.start_ns < exit_ns AND s.end_ns > start_ns
  // None ends after the exit: what is left at its end is complete there, and waits are left at their start.
  RETURN s.name AS name, s.category AS category, 0 AS inferred_ns,
    sum(s.end_ns - s.start_ns - CASE WHEN s.start_ns < start_ns THEN start_ns - s.start_ns ELSE 0 END) AS duration_ns
UNION ALL
  MATCH (s:Segment {run: $run, chain: c.chain})
  // On a thread only the first of a chain has a lag or another cause than the order of the program.
  WHERE s.start_ns > start_ns AND s.start_ns <= CASE WHEN on_gpu THEN exit_ns ELSE c.start_ns END
    AND s.end_ns IS NOT NULL
    // A segment of no length that ends where the path leaves is on it: the lag before it tells why it started.
    AND CASE s.start_ns WHEN exit_ns THEN s.end_ns = exit_ns ELSE true END
  OPTIONAL MATCH (s)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD WHERE d.binding]-(before:Segment)
  WITH s, d.evidence = 'inferred' AS inferred, coalesce(d.gap_name, 'unknown') AS lag, CASE
      WHEN d IS NULL THEN start_ns
      WHEN before.chain = s.chain THEN before.end_ns
      ELSE s.start_ns - d.gap_ns
    END AS lag_ns
  UNWIND [
    {name: lag, category: 'gap', start_ns: lag_ns, end_ns: s.start_ns, is_new: 1},
    {name: s.name, category: s.category, start_ns: s.start_ns, end_ns: s.end_ns, is_new: 0}
  ] AS stretch
  WITH stretch, inferred AND stretch.start_ns > start_ns AS inferred,
    CASE WHEN stretch.end_ns > end_ns THEN end_ns ELSE stretch.end_ns END
      - CASE WHEN stretch.start_ns < start_ns THEN start_ns ELSE stretch.start_ns END AS length_ns
  WHERE length_ns > 0
  RETURN stretch.name AS name, stretch.category AS category, sum(length_ns * stretch.is_new) AS duration_ns,
    sum(CASE WHEN inferred THEN length_ns ELSE 0 END) AS inferred_ns
}
WITH t, name, category, on_gpu, sum(duration_ns) AS duration_ns, sum(inferred_ns) AS inferred_ns
WHERE duration_ns > 0
