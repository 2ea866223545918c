// The sequences of GPU work that operators, annotations or functions launch most often.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param operator STRING? part of a name: those that launch enough inside no other such; null: see below
// @param min_length INTEGER least GPU activities of a sequence, 2..1000000, default 3
// @param limit INTEGER rows listed, 1..10000, default 100
// @column pattern STRING its name, then those of all GPU work launched inside it by start, joined by `|`
// @column count INTEGER how often that happens
// @column gpu_duration_ns INTEGER length of that GPU work, ns
// @column cpu_duration_ns INTEGER duration of what launched it, ns
// @column rank INTEGER rank of the process
// @column operator STRING name of the operator, annotation, function or call
// @column category STRING its Kineto category
// @column kernels INTEGER number of GPU activities of the sequence
// @column share FLOAT share of the GPU work of the rank that starts in the window, by length, 0..1
// Order: count, largest first, then GPU time, longest first, then pattern and rank.
// Empty when: nothing with that name launches so many GPU activities, or the trace holds no GPU work.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads all events of the run, and what runs inside those that are found.

// Without a name: the innermost that launch enough, so that GPU work counts once. A call counts in their place
// where nothing is above it: what a graph launch stands in otherwise says more.
MATCH (k:GpuWork {run: $run})
WHERE k.kernel_type IS NOT NULL AND k.start_ns >= $start_ns AND k.start_ns < $end_ns
WITH k.rank AS rank, sum(k.duration_ns) AS gpu_ns
WITH collect({rank: rank, gpu_ns: gpu_ns}) AS totals
MATCH (e:Event {run: $run}) USING INDEX e:Event(run)
WHERE e.kernels >= $min_length AND e.start_ns >= $start_ns AND e.start_ns < $end_ns
  AND ($rank IS NULL OR e.rank = $rank)
  AND CASE
    WHEN $operator IS NOT NULL
      THEN e.name CONTAINS $operator AND NOT EXISTS { (e)-[:CHILD_OF]->+(o WHERE o.name CONTAINS $operator) }
    WHEN e:Runtime OR e:Driver THEN NOT EXISTS { (e)-[:CHILD_OF]->() }
    ELSE coalesce(e.inner_kernels, 0) < $min_length
  END
MATCH (e)(()<-[:CHILD_OF]-()){0,}(call)-[:LAUNCHED]->(k)
WITH totals, e, k ORDER BY k.start_ns, k.source_index
WITH totals, e, collect(k.name) AS names, sum(k.duration_ns) AS gpu_ns
WITH totals, e.rank AS rank, e.name AS operator, e.category AS category, names, count(*) AS count,
  sum(gpu_ns) AS gpu_duration_ns, sum(e.duration_ns) AS cpu_duration_ns
ORDER BY count DESC, gpu_duration_ns DESC, operator, names, rank
LIMIT $limit
// Joined by hundreds: to add one name after the other to a long text takes too long.
WITH *, reduce(joined = operator, at IN range(0, size(names) - 1, 100)
  | joined + reduce(part = '', name IN names[at..at + 100] | part + '|' + name)) AS pattern
RETURN pattern, count, gpu_duration_ns, cpu_duration_ns, rank, operator, category, size(names) AS kernels,
  toFloat(gpu_duration_ns) / [one IN totals WHERE one.rank = rank | one.gpu_ns][0] AS share
ORDER BY count DESC, gpu_duration_ns DESC, pattern, rank
