// The sink: what ends exactly at end_ns on one of the lanes, work before waits before gaps; of no length
// only where a change left nothing else.
// `chain >= 0` lets the index on (run, chain) find the chains of the run.
MATCH (c:Chain {run: $run})
WHERE c.chain >= 0 AND c.start_ns <= end_ns AND c.end_ns >= end_ns AND c.lane IN lanes
CALL (c, end_ns) {  // the segments of a chain follow each other: the last that has ended may end there
  MATCH (s:Segment {run: $run, chain: c.chain}) WHERE s.start_ns <= end_ns AND s.end_ns <= end_ns
  RETURN s ORDER BY s.run DESC, s.chain DESC, s.start_ns DESC, s.end_ns DESC LIMIT 1
}
WITH start_ns, end_ns, c, s WHERE s.end_ns = end_ns
WITH start_ns, end_ns, c, s.start_ns = end_ns AS empty,
  CASE s.kind WHEN 'work' THEN 0 WHEN 'wait' THEN 1 ELSE 2 END AS kind
RETURN start_ns, end_ns, c.chain AS chain
ORDER BY kind, empty, c.lane, chain
LIMIT 1
