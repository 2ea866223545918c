// What the critical path of each profiler step is made of, by name: events and gaps.
// @param run STRING name of the run
// @column rank INTEGER rank of the process
// @column number INTEGER the number in ProfilerStep#N
// @column name STRING name of the events, or of the gap
// @column category STRING Kineto category, or `gap`
// @column on_gpu BOOLEAN whether it runs on a stream; for a gap, whether it ends there
// @column duration_ns INTEGER time on the step's path, ns
// @column inferred_ns INTEGER how much of it starts by an inferred dependency, ns
// Order: rank, number, duration, longest first, then the names.
// Empty when: the trace has no ProfilerStep.
// Cost: walks all steps at once and reads each segment on their paths once.

// The sinks: as in step_window, the work that ends at the end of a step's window.
MATCH (l:Lane {run: $run})
WITH collect(CASE WHEN l.matters THEN l.lane END) AS lanes,
  collect(CASE l.kind WHEN 'stream' THEN l.lane END) AS streams
MATCH (t:Step {run: $run})
WITH lanes, streams, collect(t) AS steps, collect(t.window_end_ns) AS ends
// `chain >= 0` lets the index on (run, chain) find the segments of the run.
MATCH (s:Segment {run: $run})
WHERE s.chain >= 0 AND s.end_ns IN ends AND s.start_ns < s.end_ns AND s.lane IN lanes
UNWIND [t IN steps WHERE t.window_end_ns = s.end_ns AND t.rank = s.rank] AS t
WITH streams, t, s ORDER BY CASE s.kind WHEN 'work' THEN 0 WHEN 'wait' THEN 1 ELSE 2 END, s.lane, s.chain
WITH streams, t, head(collect(s.chain)) AS chain

// The walk, as in critical_path, for every step; then the parts that the steps take of a chain together.
MATCH (sink:Chain {run: $run, chain: chain})
MATCH (sink)((effect WHERE effect.start_ns > t.start_ns)<-[:LEADS_TO]-()){0,}(link)
WITH DISTINCT streams, t, chain, link
OPTIONAL MATCH (cause:Chain)-[hop:LEADS_TO]->(link) WHERE link.start_ns > t.start_ns
WITH streams, t, chain,
  collect(CASE WHEN hop IS NOT NULL THEN {chain: cause.chain, exit_ns: hop.at_ns} END) AS exits
UNWIND exits + [{chain: chain, exit_ns: t.window_end_ns}] AS exit
WITH streams, t, exit ORDER BY t.start_ns, t.number
WHERE exit.exit_ns > t.start_ns
WITH streams, exit.chain AS chain, collect({rank: t.rank, number: t.number, start_ns: t.start_ns,
  exit_ns: exit.exit_ns, end_ns: t.window_end_ns}) AS parts
WITH streams, chain, parts, [part IN parts | part.start_ns] AS starts,
  // for each part, the first that is still open when it starts
  [i IN range(0, size(parts) - 1) | head([j IN range(0, i) WHERE parts[j].exit_ns > parts[i].start_ns])]
    AS firsts,
  // powers of two for a binary search: a chain may hold all steps of a long run
  [bit IN range(0, 20) WHERE 2 ^ (20 - bit) <= size(parts) | toInteger(2 ^ (20 - bit))] AS jumps
MATCH (c:Chain {run: $run, chain: chain})
WITH chain, parts, starts, firsts, jumps, c.start_ns AS first_ns, c.lane IN streams AS on_gpu
MATCH (s:Segment {run: $run, chain: chain})
WITH parts, starts, firsts, on_gpu, on_gpu OR s.start_ns = first_ns AS may_lag, s,
  reduce(n = 0, jump IN jumps | CASE WHEN starts[n + jump - 1] <= s.start_ns THEN n + jump ELSE n END) AS begun
UNWIND parts[CASE begun WHEN 0 THEN 0 ELSE firsts[begun - 1] END
  ..CASE WHEN starts[begun] < s.end_ns THEN size(parts) ELSE begun END] AS part
// A segment of no length that ends where the path leaves is on it: the lag before it tells why it started.
WITH part, s, on_gpu, may_lag
WHERE s.start_ns < part.exit_ns + CASE s.end_ns WHEN s.start_ns THEN 1 ELSE 0 END AND s.end_ns > part.start_ns
// Two stretches may belong to a segment: itself, and the lag between its cause and its start, see path_gaps.
// On a thread only the first of a chain has a lag or another cause than the order of the program.
WITH part, s, on_gpu, CASE WHEN may_lag THEN coalesce([
  (s)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD]-(before:Segment) WHERE d.binding |
  {inferred: d.evidence = 'inferred',
   start_ns: CASE WHEN before.chain = s.chain THEN before.end_ns ELSE s.start_ns - d.gap_ns END,
   name: coalesce(d.gap_name, CASE
    WHEN d:INVOCATION THEN 'launch latency'
    WHEN d:SEQUENTIAL AND d.mechanism = 'stream order' THEN 'stream queue'
    WHEN d.mechanism = 'collective' THEN 'waiting for another rank'
    WHEN d:SYNCHRONIZATION THEN 'waiting for GPU'
    WHEN d.mechanism IN ['GIL wait', 'GIL holder', 'serialised'] THEN 'waiting for the GIL'
    WHEN d:CROSS_THREAD THEN 'waiting for another thread'
    ELSE 'unknown'
   END)}][0], {start_ns: part.start_ns, name: 'unknown'}) END AS lag
UNWIND CASE WHEN lag.start_ns < s.start_ns THEN [lag, null] ELSE [null] END AS gap
WITH part.rank AS rank, part.number AS number, part.start_ns AS from_ns, part.end_ns AS to_ns, on_gpu,
  lag.inferred AS inferred, coalesce(gap.name, s.name) AS name,
  CASE WHEN gap IS NULL AND s.kind = 'work' THEN s.category ELSE 'gap' END AS category,
  coalesce(gap.start_ns, s.start_ns) AS start_ns,
  CASE WHEN gap IS NULL THEN s.end_ns ELSE s.start_ns END AS end_ns
WITH rank, number, name, category, on_gpu, inferred AND start_ns > from_ns AS inferred,
  CASE WHEN end_ns > to_ns THEN to_ns ELSE end_ns END
    - CASE WHEN start_ns < from_ns THEN from_ns ELSE start_ns END AS length_ns
WHERE length_ns > 0
RETURN rank, number, name, category, on_gpu, sum(length_ns) AS duration_ns,
  sum(CASE WHEN inferred THEN length_ns ELSE 0 END) AS inferred_ns
ORDER BY rank, number, duration_ns DESC, name, category, on_gpu
