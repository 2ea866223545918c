// The long silences of a window's critical path: no event was open on the thread; and what else ran meanwhile.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @param least_ns INTEGER shortest silence listed, ns, 1..1000000000000000, default 1000000
// @param limit INTEGER rows listed, 1..10000, default 200
// @column lane INTEGER lane id
// @column lane_name STRING readable name of the thread
// @column start_ns INTEGER start, clipped to the window, ns
// @column end_ns INTEGER end, clipped to the window, ns
// @column duration_ns INTEGER length, ns
// @column gpu_busy_ns INTEGER time in which at least one activity ran on a GPU of the thread's rank, ns
// @column threads_busy_ns INTEGER time in which at least one other thread of the rank did recorded work, ns
// Order: duration, longest first, then start.
// Empty when: the path holds no gap `untraced CPU time` that long; a dependency in its middle makes two of one.
// Cost: reads the pauses on the path once, and the segments of all lanes during the silences.

// @include walk
MATCH (s:Pause {run: $run, chain: exit.chain})
// The length stands in the index: only what is long is read.
WHERE s.start_ns < exit.exit_ns AND s.end_ns > $start_ns AND s.end_ns - s.start_ns >= $least_ns
  AND s.kind = 'gap' AND s.name = 'untraced CPU time'
WITH s.lane AS lane, s.rank AS rank,
  CASE WHEN s.start_ns < $start_ns THEN $start_ns ELSE s.start_ns END AS start_ns,
  CASE WHEN s.end_ns > $end_ns THEN $end_ns ELSE s.end_ns END AS end_ns
WHERE end_ns - start_ns >= $least_ns
WITH lane, rank, start_ns, end_ns ORDER BY end_ns - start_ns DESC, start_ns LIMIT $limit
WITH collect({lane: lane, rank: rank, start_ns: start_ns, end_ns: end_ns}) AS silences
WHERE size(silences) > 0
MATCH (l:Lane {run: $run})
WITH silences, collect(CASE l.kind WHEN 'stream' THEN l.lane END) AS streams
// `chain >= 0` lets the index on (run, chain) find the chains of the run.
MATCH (c:Chain {run: $run})
WHERE c.chain >= 0 AND c.start_ns < $end_ns AND c.end_ns > $start_ns
WITH silences, collect({chain: c.chain, on_gpu: c.lane IN streams, rank: c.rank, start_ns: c.start_ns,
  end_ns: c.end_ns}) AS chains
UNWIND silences AS silence
CALL (silence, chains) {
  UNWIND [c IN chains WHERE c.rank = silence.rank AND c.start_ns < silence.end_ns AND c.end_ns > silence.start_ns]
    AS c
  CALL (silence, c) {  // the segments of a chain follow each other: only the last before may reach into it
    MATCH (s:Segment {run: $run, chain: c.chain})
    WHERE s.end_ns IS NOT NULL AND s.frame IS NOT NULL
      AND s.start_ns <= CASE WHEN c.start_ns < silence.start_ns THEN silence.start_ns ELSE c.start_ns END
    RETURN s.start_ns AS since_ns ORDER BY s.run DESC, s.chain DESC, s.start_ns DESC, s.end_ns DESC LIMIT 1
  }
  MATCH (s:Segment {run: $run, chain: c.chain, kind: 'work'})
  WHERE s.start_ns >= since_ns AND s.start_ns < silence.end_ns AND s.end_ns > silence.start_ns
    AND s.frame IS NOT NULL
  WITH c.on_gpu AS on_gpu,
    CASE WHEN s.start_ns < silence.start_ns THEN silence.start_ns ELSE s.start_ns END AS start_ns,
    CASE WHEN s.end_ns > silence.end_ns THEN silence.end_ns ELSE s.end_ns END AS end_ns
  ORDER BY start_ns
  // The silent thread is not among them: it does no work then.
  WITH collect(CASE WHEN on_gpu THEN [start_ns, end_ns] END) AS of_gpus,
    collect(CASE WHEN NOT on_gpu THEN [start_ns, end_ns] END) AS of_threads
  RETURN [works IN [of_gpus, of_threads] | reduce(state = [0, silence.start_ns], a IN works |
    // What spans sorted by their start cover, one more at a time: [time covered so far, end of the spans so far].
    CASE
      WHEN a[1] <= state[1] THEN state
      WHEN a[0] <= state[1] THEN [state[0] + a[1] - state[1], a[1]]
      ELSE [state[0] + a[1] - a[0], a[1]]
    END
  )[0]] AS busy_ns
}
MATCH (l:Lane {run: $run, lane: silence.lane})
RETURN l.lane AS lane, l.name AS lane_name, silence.start_ns AS start_ns, silence.end_ns AS end_ns,
  silence.end_ns - silence.start_ns AS duration_ns, busy_ns[0] AS gpu_busy_ns, busy_ns[1] AS threads_busy_ns
ORDER BY duration_ns DESC, start_ns
