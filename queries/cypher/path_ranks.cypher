// How much of a window's critical path runs on each rank: whose work sets the pace.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @column rank INTEGER rank of the process
// @column duration_ns INTEGER time of the path on this rank, ns
// @column share FLOAT share of the path's length, 0..1
// @column count INTEGER number of times the path comes to this rank, from another one or at its beginning
// Order: duration, longest first, then rank.
// Empty when: the run has no such chain.

// @include walk
MATCH (c:Chain {run: $run, chain: exit.chain})
WHERE exit.exit_ns > $start_ns
OPTIONAL MATCH (c)<-[hop:LEADS_TO]-(cause:Chain) WHERE c.start_ns > $start_ns
WITH c.rank AS rank, coalesce(cause.rank, -1) <> c.rank AS comes,
  // A lag belongs to what it leads to; from its cause on the path is there.
  exit.exit_ns - CASE WHEN hop.at_ns > $start_ns THEN hop.at_ns ELSE $start_ns END AS length_ns
WITH rank, sum(length_ns) AS duration_ns, sum(CASE WHEN comes THEN 1 ELSE 0 END) AS count
RETURN rank, duration_ns, toFloat(duration_ns) / ($end_ns - $start_ns) AS share, count
ORDER BY duration_ns DESC, rank
