// Each launch: how long the call and the GPU work take, and what lies between; the outliers first.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param short_ns INTEGER a call up to this long has a short kernel if that is shorter, ns, 0..1000000000000, default 50000
// @param slow_ns INTEGER a call longer than this is slow, ns, 0..1000000000000, default 50000
// @param delay_ns INTEGER a delay longer than this is long, ns, 0..1000000000000, default 100000
// @param limit INTEGER rows listed, 1..1000000, default 10000
// @column rank INTEGER rank of the process
// @column correlation INTEGER? id that joins the call with its GPU work, null where the file joins them otherwise
// @column name STRING name of the call
// @column cpu_duration_ns INTEGER duration of the call, ns
// @column gpu_duration_ns INTEGER duration of the GPU work, ns
// @column launch_delay_ns INTEGER from the call's end to the start of the GPU work, 0 where that starts before, ns
// @column kernel STRING name of the GPU work
// @column kernel_category STRING its Kineto category
// @column device INTEGER? GPU index
// @column stream INTEGER? stream id
// @column operator STRING? innermost operator above the call, null without one
// @column short_kernel BOOLEAN whether the GPU work takes less than its call, which is not slow
// @column slow_call BOOLEAN whether the call is slow
// @column long_delay BOOLEAN whether the GPU work starts long after the call
// @column start_ns INTEGER start of the call, ns
// @column kernel_start_ns INTEGER start of the GPU work, ns
// @column call_source_index INTEGER position of the call in the file's traceEvents
// @column source_index INTEGER position of the GPU work in the file's traceEvents
// Order: slow calls and long delays, then short kernels, then the rest; of these the longest call and delay first.
// Empty when: no GPU work starts by a recorded call.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads all GPU work of the run with its calls.

// @include launched_work
WITH *, cpu_duration_ns <= $short_ns AND gpu_duration_ns < cpu_duration_ns AS short_kernel,
  cpu_duration_ns > $slow_ns AS slow_call, launch_delay_ns > $delay_ns AS long_delay
WITH *, CASE WHEN slow_call OR long_delay THEN 0 WHEN short_kernel THEN 1 ELSE 2 END AS place
ORDER BY place, cpu_duration_ns + launch_delay_ns DESC, k.rank, k.source_index
LIMIT $limit
MATCH (l:Lane {run: $run}) WHERE l.lane = k.lane
RETURN k.rank AS rank, call.correlation AS correlation, call.name AS name, cpu_duration_ns, gpu_duration_ns,
  launch_delay_ns, k.name AS kernel, k.category AS kernel_category, l.device AS device, l.stream AS stream,
  CASE WHEN call:CpuOp THEN call.name ELSE head(COLLECT {
    MATCH (call)((inner WHERE NOT inner:CpuOp)-[:CHILD_OF]->()){1,}(o:CpuOp) RETURN o.name
  }) END AS operator,
  short_kernel, slow_call, long_delay, call.start_ns AS start_ns, k.start_ns AS kernel_start_ns,
  call.source_index AS call_source_index, k.source_index AS source_index
ORDER BY place, cpu_duration_ns + launch_delay_ns DESC, rank, source_index
