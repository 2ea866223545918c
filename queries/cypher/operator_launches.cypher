// The kernels that operators launch themselves, in order, and how long that takes from the operator's start.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param limit INTEGER rows listed, 1..10000, default 1000
// @column rank INTEGER rank of the process
// @column operator STRING name of the operator
// @column sequence STRING names of the kernels that it is the innermost operator of, by launch, joined by ` -> `
// @column count INTEGER calls of it that launch these
// @column operator_delay_ns FLOAT mean time from its start to its first launch, ns
// @column runtime_delay_ns FLOAT mean time from the start of that launch to the start of its kernel, ns
// @column kernels INTEGER number of kernels of the sequence
// Order: rank, count, largest first, then operator and sequence.
// Empty when: no kernel is launched inside an operator.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads all kernels of the run with their calls.

// Copies and memory that is set are left out, as by HTA.
MATCH (k:GpuWork {run: $run})
WHERE k.kernel_type IS NOT NULL AND ($rank IS NULL OR k.rank = $rank)
// Looked at only now: a scan by this label would read all runs.
WITH k, k:Kernel AS is_kernel WHERE is_kernel
MATCH (call)-[:LAUNCHED]->(k)
MATCH p = (call)-[:CHILD_OF*1..]->(o:CpuOp)
WHERE all(up IN relationships(p) WHERE NOT startNode(up):CpuOp)
  AND o.start_ns >= $start_ns AND o.start_ns < $end_ns
WITH o, call, k ORDER BY call.start_ns, call.source_index, k.start_ns, k.source_index
WITH o, collect(k.name) AS names, head(collect(call.start_ns)) AS called_ns, head(collect(k.start_ns)) AS began_ns
WITH o.rank AS rank, o.name AS operator, names, count(*) AS count, avg(called_ns - o.start_ns) AS operator_delay_ns,
  avg(began_ns - called_ns) AS runtime_delay_ns
ORDER BY rank, count DESC, operator, names
LIMIT $limit
RETURN rank, operator, reduce(joined = names[0], name IN names[1..] | joined + ' -> ' + name) AS sequence, count,
  operator_delay_ns, runtime_delay_ns, size(names) AS kernels
ORDER BY rank, count DESC, operator, sequence
