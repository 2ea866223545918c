// FLOPs and bytes that hardware counters counted, by the innermost operator around the launch.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @column rank INTEGER rank of the process
// @column name STRING? name of the operator, null where ranges belong to no known one
// @column count INTEGER number of ranges
// @column gpu_ns INTEGER? time of the kernels that were measured, null where the file does not hold them, ns
// @column flops FLOAT? floating point operations, null where no counter counts them
// @column bytes FLOAT? bytes read and written in the device's memory, null where no counter counts them
// @column confidence FLOAT? how sure the least sure pair of a range and a launch is, 0..1
// Order: rank, FLOPs, most first, then name.
// Empty when: the run holds no hardware counters.
// Needs: Counter.
// Cost: reads all counters of the run once.

// @include measured_ranges
WITH c.rank AS rank, c.source_index AS range, head(operators).name AS name, min(confidence) AS confidence,
  max(CASE WHEN e:Kernel THEN e.end_ns - e.start_ns END) AS gpu_ns,
  count(c.flops_each) AS known_flops, sum(c.value * c.flops_each) AS flops,
  count(c.bytes_each) AS known_bytes, sum(c.value * c.bytes_each) AS bytes
WITH rank, name, count(*) AS count, count(gpu_ns) AS timed, sum(gpu_ns) AS gpu_ns, min(known_flops) AS known_flops,
  sum(flops) AS flops, min(known_bytes) AS known_bytes, sum(bytes) AS bytes, min(confidence) AS confidence
RETURN rank, name, count, CASE timed WHEN count THEN gpu_ns END AS gpu_ns,
  CASE WHEN known_flops > 0 THEN toFloat(flops) END AS flops,
  CASE WHEN known_bytes > 0 THEN toFloat(bytes) END AS bytes, confidence
ORDER BY rank, coalesce(flops, 0.0) DESC, name
