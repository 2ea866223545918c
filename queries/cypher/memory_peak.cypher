// When most was allocated and most was reserved on each device, by which operator, and how much of the device it was.
// @param run STRING name of the run
// @param rank INTEGER? rank of the process, null for all
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @column rank INTEGER rank of the process
// @column device_type STRING kind of the device, such as `cpu` or `cuda`
// @column device INTEGER? index of the device, null for the CPU's memory
// @column allocated_bytes INTEGER? most allocated at once, as the file states it, null where it does not, B
// @column net_bytes INTEGER the same above what was allocated when the recording began, B
// @column at_ns INTEGER when it was first so much, at the window's start where it was so before, ns
// @column bytes INTEGER bytes allocated by the row that made it so much, B
// @column source_index INTEGER? 0-based position in the file's traceEvents of the operator that was open on the thread
// @column name STRING? its name; of the innermost event where no operator was open, null where none was
// @column category STRING? its category
// @column inside STRING? outermost operator that it ran in, null where it ran in none
// @column step INTEGER? the number in ProfilerStep#N
// @column phase STRING? name of the phase of its rank, null where it is in none
// @column reserved_bytes INTEGER? most held by the allocator at once, as the file states it, null where it does not, B
// @column reserved_at_ns INTEGER? when it was first so much, at the window's start where it was so before, ns
// @column capacity_bytes INTEGER? memory of the device, null where the file does not state it, B
// @column allocated_share FLOAT? part of it that was allocated, 0..1
// @column reserved_share FLOAT? part of it that was reserved, 0..1
// Order: rank, device type, device.
// Empty when: the trace has no memory rows, which profile_memory=True records.
// Needs: Allocation.
// Cost: reads the memory rows up to the window's end.

// @include device_memory
CALL (rows) {
  UNWIND range(0, size(rows) - 1) AS i
  WITH i, rows[i] AS a
  RETURN max([coalesce(a.allocated_bytes, a.net_bytes), -i]) AS highest,
    max(CASE WHEN a.reserved_bytes IS NOT NULL THEN [a.reserved_bytes, -i] END) AS widest
}
WITH rank, device_type, device, rows[-highest[1]] AS a, rows[-widest[1]] AS r
OPTIONAL MATCH (a)-[:DURING]->(e:Event)
CALL (e) {
  OPTIONAL MATCH (e)-[:CHILD_OF*]->(outer:CpuOp) WHERE NOT outer.name STARTS WITH 'ProfilerStep#'
  RETURN outer.name AS inside ORDER BY outer.start_ns, outer.end_ns DESC LIMIT 1
}
CALL (rank, a) {
  OPTIONAL MATCH (p:Phase {run: $run, rank: rank}) WHERE p.start_ns <= a.at_ns AND p.end_ns > a.at_ns
  RETURN p.name AS phase ORDER BY p.start_ns DESC, p.end_ns LIMIT 1
}
OPTIONAL MATCH (t:Trace {run: $run, rank: rank})
WITH rank, device_type, device, a, r, e, inside, phase,
  toInteger(split(substring(t.device_memory, 1, size(t.device_memory) - 2), ',')[device]) AS capacity_bytes
RETURN rank, device_type, device, a.allocated_bytes AS allocated_bytes, a.net_bytes AS net_bytes,
  CASE WHEN a.at_ns < $start_ns THEN $start_ns ELSE a.at_ns END AS at_ns, a.bytes AS bytes,
  e.source_index AS source_index, e.name AS name, e.category AS category, inside, a.step AS step, phase,
  r.reserved_bytes AS reserved_bytes,
  CASE WHEN r.at_ns < $start_ns THEN $start_ns ELSE r.at_ns END AS reserved_at_ns, capacity_bytes,
  toFloat(a.allocated_bytes) / capacity_bytes AS allocated_share,
  toFloat(r.reserved_bytes) / capacity_bytes AS reserved_share
ORDER BY rank, device_type, device
