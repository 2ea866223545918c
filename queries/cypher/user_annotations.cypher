// Annotations by name: how often and how long, on threads and on GPUs, and the GPU work launched inside.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param limit INTEGER rows listed, 1..1000000, default 10000
// @column rank INTEGER rank of the process
// @column name STRING name of the annotations
// @column category STRING Kineto category: of a thread, or of a stream around the work launched in it
// @column count INTEGER number of them that start in the window
// @column sum_ns INTEGER their durations, ns
// @column mean_ns FLOAT mean duration, ns
// @column std_ns FLOAT standard deviation of a sample, 0 of one, ns
// @column min_ns INTEGER shortest, ns
// @column max_ns INTEGER longest, ns
// @column gpu_ns INTEGER? length of the GPU work launched inside those of threads, null for a rank without any, ns
// Order: rank, category, sum, longest first, then name.
// Empty when: the trace holds no annotation.
// Cost: reads all events of the run.

// Annotations inside others count in both. What a stream's annotation spans holds idle time and work of others:
// gpu_ns does not.
// A stream matters if work runs on it.
MATCH (l:Lane {run: $run})
WITH collect(DISTINCT CASE WHEN l.kind = 'stream' AND l.matters THEN l.rank END) AS gpu_ranks
MATCH (e:Event {run: $run}) USING INDEX e:Event(run)
WHERE e.start_ns >= $start_ns AND e.start_ns < $end_ns AND ($rank IS NULL OR e.rank = $rank)
// Looked at only now: a scan by these labels would read all runs.
WITH e, gpu_ranks, e:Annotation OR e:GpuAnnotation AS is_annotation WHERE is_annotation
WITH gpu_ranks, e.rank AS rank, e.name AS name, e.category AS category, e:Annotation AS on_thread, count(*) AS count,
  sum(e.duration_ns) AS sum_ns, avg(e.duration_ns) AS mean_ns, stDev(e.duration_ns) AS std_ns,
  min(e.duration_ns) AS min_ns, max(e.duration_ns) AS max_ns, sum(e.gpu_ns) AS gpu_ns
RETURN rank, name, category, count, sum_ns, mean_ns, std_ns, min_ns, max_ns,
  CASE WHEN on_thread AND rank IN gpu_ranks THEN gpu_ns END AS gpu_ns
ORDER BY rank, category, sum_ns DESC, name
LIMIT $limit
