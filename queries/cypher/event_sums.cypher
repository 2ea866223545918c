// How many events there are of each name and how long they take, on the CPU and on the GPU.
// @param run STRING name of the run
// @param rank INTEGER? rank of the process, null for all
// @param step INTEGER? number in ProfilerStep#N that they run in, GPU work: were launched in; null for all
// @param limit INTEGER rows listed, 1..1000000, default 10000
// @column name STRING name of the events
// @column device STRING `GPU` for what runs or waits on a stream, `CPU` for what runs on a thread
// @column category STRING Kineto category
// @column count INTEGER number of events
// @column duration_ns INTEGER their durations as the file states them, ns
// Order: duration, longest first, then name, device and category.
// Empty when: nothing is recorded there.
// Cost: reads every event of the run once.

MATCH (e:Event {run: $run})
WHERE ($rank IS NULL OR e.rank = $rank) AND ($step IS NULL OR e.step = $step)
WITH e.name AS name, e.category AS category, count(*) AS count, sum(e.duration_ns) AS duration_ns,
  CASE WHEN e:Kernel OR e:Memcpy OR e:Memset OR e:GpuAnnotation OR e:Sync THEN 'GPU' ELSE 'CPU' END AS device
RETURN name, device, category, count, duration_ns
ORDER BY duration_ns DESC, name, device, category
LIMIT $limit
