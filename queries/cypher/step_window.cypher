// The window of one profiler step and the sink that its critical path ends in.
// @param run STRING name of the run
// @param number INTEGER the number in ProfilerStep#N
// @column start_ns INTEGER start of the window, ns
// @column end_ns INTEGER end of the window, ns
// @column chain INTEGER id of the chain that ends exactly at the window's end, by work where there is some: the sink
// Empty when: the run has no such step.

MATCH (t:Step {run: $run, number: $number})
WITH min(t.start_ns) AS start_ns, max(t.window_end_ns) AS end_ns
MATCH (l:Lane {run: $run, matters: true})
WITH start_ns, end_ns, collect(l.lane) AS lanes
// `chain >= 0` lets the index on (run, chain) find the chains of the run.
MATCH (c:Chain {run: $run})
WHERE c.chain >= 0 AND c.start_ns < end_ns AND c.end_ns >= end_ns AND c.lane IN lanes
CALL (c, end_ns) {  // the segments of a chain follow each other: the last that begins before may end there
  MATCH (s:Segment {run: $run, chain: c.chain}) WHERE s.start_ns < end_ns AND s.end_ns IS NOT NULL
  RETURN s ORDER BY s.run DESC, s.chain DESC, s.start_ns DESC, s.end_ns DESC LIMIT 1
}
WITH start_ns, end_ns, c, s WHERE s.end_ns = end_ns
WITH start_ns, end_ns, c, CASE s.kind WHEN 'work' THEN 0 WHEN 'wait' THEN 1 ELSE 2 END AS kind
RETURN start_ns, end_ns, c.chain AS chain
ORDER BY kind, c.lane, chain
LIMIT 1
