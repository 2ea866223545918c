// The operators that allocate most: what was allocated and freed on each device while they were the innermost.
// @param run STRING name of the run
// @param rank INTEGER? rank of the process, null for all
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param limit INTEGER rows listed, 1..10000, default 100
// @column rank INTEGER rank of the process
// @column device_type STRING kind of the device, such as `cpu` or `cuda`
// @column device INTEGER? index of the device, null for the CPU's memory
// @column name STRING? operator, else the innermost event, null where none was open; all steps are `ProfilerStep#`
// @column category STRING? its category
// @column count INTEGER number of allocations
// @column allocated_bytes INTEGER what they allocated, B
// @column freed_bytes INTEGER what was freed meanwhile, whoever allocated it, B
// @column net_bytes INTEGER allocated less freed, B
// @column largest_bytes INTEGER largest allocation, 0 without any, B
// Order: bytes allocated, most first, then bytes freed, rank, device type, device, name, category.
// Empty when: no memory row lies in the window; profile_memory=True records them.
// Needs: Allocation.
// Cost: reads the memory rows of the window and their operators once.

MATCH (a:Allocation {run: $run})
WHERE a.at_ns >= $start_ns AND a.at_ns <= $end_ns AND ($rank IS NULL OR a.rank = $rank)
OPTIONAL MATCH (a)-[:DURING]->(e:Event)
WITH a.rank AS rank, a.device_type AS device_type, a.device AS device, e, a.bytes AS bytes
WITH rank, device_type, device, e.category AS category,
  CASE WHEN e.name STARTS WITH 'ProfilerStep#' THEN 'ProfilerStep#' ELSE e.name END AS name,
  CASE WHEN bytes > 0 THEN bytes ELSE 0 END AS allocated, CASE WHEN bytes < 0 THEN -bytes ELSE 0 END AS freed
WITH rank, device_type, device, name, category, sum(CASE WHEN allocated > 0 THEN 1 ELSE 0 END) AS count,
  sum(allocated) AS allocated_bytes, sum(freed) AS freed_bytes, max(allocated) AS largest_bytes
RETURN rank, device_type, device, name, category, count, allocated_bytes, freed_bytes,
  allocated_bytes - freed_bytes AS net_bytes, largest_bytes
ORDER BY allocated_bytes DESC, freed_bytes DESC, rank, device_type, device, name, category
LIMIT $limit
