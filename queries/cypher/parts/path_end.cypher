// Where the path ends: what ends exactly at end_ns on one of the lanes, work before waits before gaps; work of no
// length only where a change left nothing else. All that a rank in short works on is a gap of that name.
// `chain >= 0` lets the index on (run, chain) find the chains of the run.
MATCH (c:Chain {run: $run})
WHERE c.chain >= 0 AND c.start_ns <= end_ns AND c.end_ns >= end_ns AND c.lane IN lanes
CALL (c, end_ns) {  // the segments of a chain follow each other: the last that begins before may end there
  MATCH (s:Segment {run: $run, chain: c.chain})
  WHERE s.start_ns < end_ns AND s.end_ns IS NOT NULL AND s.frame IS NOT NULL
  RETURN s ORDER BY s.run DESC, s.chain DESC, s.start_ns DESC, s.end_ns DESC LIMIT 1
UNION ALL
  MATCH (s:Segment {run: $run, chain: c.chain}) WHERE s.start_ns = end_ns AND s.end_ns = end_ns AND s.frame IS NOT NULL
  RETURN s ORDER BY s.kind DESC LIMIT 1
}
WITH start_ns, end_ns, c, s WHERE s.end_ns = end_ns
WITH start_ns, end_ns, c, s.start_ns = end_ns AS empty,
  CASE WHEN s.kind = 'gap' AND s.name = 'work of a rank in short' THEN 'work' ELSE s.kind END AS kind
WITH start_ns, end_ns, c, empty, CASE
    WHEN kind = 'work' AND NOT empty THEN 0
    WHEN kind = 'wait' AND NOT empty THEN 1
    WHEN kind = 'work' THEN 2
    ELSE 3
  END AS kind
RETURN start_ns, end_ns, c.chain AS chain
ORDER BY kind, empty, c.lane, chain
LIMIT 1
