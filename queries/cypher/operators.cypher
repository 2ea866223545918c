// What each operator takes: calls, its CPU time, the GPU time of what it launched, and its time on the critical path.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param chain INTEGER id of the chain that the path ends in
// @param rank INTEGER? rank of the process, null for all
// @param by_shape BOOLEAN whether calls with other input shapes are another row, default false
// @param limit INTEGER rows listed, 1..1000000, default 10000
// @column rank INTEGER rank of the process
// @column name STRING name of the operator; all steps are one
// @column shapes STRING? input shapes as the file writes them, null where it does not, and without by_shape
// @column count INTEGER calls that start in the window
// @column self_cpu_ns INTEGER time in which no operator inside is open; Python and calls to the GPU inside count, ns
// @column cpu_ns INTEGER all their time; of calls inside others of the name only the outermost, ns
// @column mean_cpu_ns FLOAT? mean duration of a call, inside others or not; null without one, ns
// @column self_gpu_ns INTEGER? GPU work launched with none inside open, null for a rank without GPU work, ns
// @column gpu_ns INTEGER? all GPU work launched inside; of calls inside others only the outermost, ns
// @column path_self_ns INTEGER? critical path in its own CPU time, in the window; null with by_shape, ns
// @column path_gpu_ns INTEGER? critical path in GPU work that it launched itself; null without any or with by_shape, ns
// Order: rank, own CPU time, longest first, then name and shapes.
// Empty when: the file holds no operator.
// Cost: reads all operators of the run, and the segments on the path once.

// As torch's key_averages, but for: calls inside others of their name, which that leaves out where they are all that
// is inside, and else counts twice (count * mean_cpu_ns); calls to the GPU and annotations inside, which it takes off
// the operator's own time. In both, lengths of GPU work add up, at the same time or not.
// The path is told by name: frames know no shapes.
// A stream matters if work runs on it.
MATCH (l:Lane {run: $run}) USING INDEX l:Lane(run)
WITH collect(DISTINCT CASE WHEN l.kind = 'stream' AND l.matters THEN l.rank END) AS gpu_ranks
CALL (gpu_ranks) {
  MATCH (e:Event {run: $run}) USING INDEX e:Event(run)
  WHERE e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
  // Looked at only now: a scan by this label would read all runs.
  WITH e, gpu_ranks, e:CpuOp AS is_operator WHERE is_operator
  // To look for what a node does not have takes longest.
  WITH e.rank AS rank, e.name AS name, CASE WHEN $by_shape THEN e.shapes END AS shapes, e.recursive AS recursive,
    count(*) AS count, sum(e.duration_ns) AS duration_ns, sum(e.operator_ns) AS self_cpu_ns,
    sum(CASE WHEN e.rank IN gpu_ranks THEN e.own_gpu_ns END) AS self_gpu_ns,
    sum(CASE WHEN e.rank IN gpu_ranks THEN e.gpu_ns END) AS gpu_ns
  // Frames, by which the path is told, know steps by their marker only.
  RETURN rank, CASE WHEN name STARTS WITH 'ProfilerStep#' THEN 'ProfilerStep#' ELSE name END AS name, shapes, count,
    duration_ns, self_cpu_ns, self_gpu_ns,
    CASE WHEN recursive THEN 0 ELSE duration_ns END AS cpu_ns, CASE WHEN recursive THEN 0 ELSE gpu_ns END AS gpu_ns,
    0 AS path_self_ns, 0 AS path_gpu_ns
UNION ALL
  // @include walk
  WITH exit WHERE NOT $by_shape
  // @include walked_chains
  MATCH (s:Segment {run: $run, chain: c.chain})
  WHERE s.start_ns < exit_ns AND s.end_ns > $start_ns
    AND s.end_ns - s.start_ns > 0 AND s.frame IS NOT NULL
  WITH s.frame AS frame, on_gpu, sum(
      // @include clipped_length
    ) AS length_ns
  MATCH (f:Frame {run: $run, frame: frame}) USING INDEX f:Frame(run, frame)
  WHERE f.operator IS NOT NULL AND f.category <> 'gap'
  WITH f.operator AS operator, sum(CASE WHEN on_gpu THEN 0 ELSE length_ns END) AS path_self_ns,
    sum(CASE WHEN on_gpu THEN length_ns ELSE 0 END) AS path_gpu_ns
  MATCH (f:Frame {run: $run, frame: operator}) USING INDEX f:Frame(run, frame)
  WHERE $rank IS NULL OR f.rank = $rank
  RETURN f.rank AS rank, f.name AS name, null AS shapes, 0 AS count, 0 AS duration_ns, 0 AS self_cpu_ns, 0 AS cpu_ns,
    0 AS self_gpu_ns, 0 AS gpu_ns, sum(path_self_ns) AS path_self_ns, sum(path_gpu_ns) AS path_gpu_ns
}
WITH rank, name, shapes, rank IN gpu_ranks AS has_gpu, sum(count) AS count, sum(duration_ns) AS duration_ns,
  sum(self_cpu_ns) AS self_cpu_ns, sum(cpu_ns) AS cpu_ns, sum(self_gpu_ns) AS self_gpu_ns, sum(gpu_ns) AS gpu_ns,
  sum(path_self_ns) AS path_self_ns, sum(path_gpu_ns) AS path_gpu_ns
RETURN rank, name, shapes, count, self_cpu_ns, cpu_ns,
  CASE WHEN count > 0 THEN toFloat(duration_ns) / count END AS mean_cpu_ns,
  CASE WHEN has_gpu THEN self_gpu_ns END AS self_gpu_ns, CASE WHEN has_gpu THEN gpu_ns END AS gpu_ns,
  CASE WHEN NOT $by_shape THEN path_self_ns END AS path_self_ns,
  CASE WHEN has_gpu AND NOT $by_shape THEN path_gpu_ns END AS path_gpu_ns
ORDER BY rank, self_cpu_ns DESC, name, shapes
LIMIT $limit
