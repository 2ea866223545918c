// The memory rows of a window by device, in the order of time: first, at its start, the last one before it.
// `a.at_ns` is compared, so that the index on (run, at_ns) finds them.
CALL () {
  MATCH (a:Allocation {run: $run})
  WHERE a.at_ns >= $start_ns AND a.at_ns <= $end_ns AND ($rank IS NULL OR a.rank = $rank)
  RETURN a
UNION ALL
  MATCH (a:Allocation {run: $run}) WHERE a.at_ns < $start_ns AND ($rank IS NULL OR a.rank = $rank)
  WITH a ORDER BY a.at_ns DESC, a.source_index DESC
  WITH a.rank AS rank, a.device_type AS device_type, a.device AS device, collect(a)[0] AS a
  RETURN a
}
WITH a ORDER BY a.at_ns, a.source_index
WITH a.rank AS rank, a.device_type AS device_type, a.device AS device, collect(a) AS rows
