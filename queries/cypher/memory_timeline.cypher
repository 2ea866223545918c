// What is allocated on each device over time, thinned to `limit` rows so that the peak of every stretch stays.
// @param run STRING name of the run
// @param rank INTEGER? rank of the process, null for all
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param limit INTEGER rows listed at most, 1000..1000000, default 10000
// @column rank INTEGER rank of the process
// @column device_type STRING kind of the device, such as `cpu` or `cuda`
// @column device INTEGER? index of the device, null for the CPU's memory
// @column at_ns INTEGER when, of the row before the window its start, ns
// @column allocated_bytes INTEGER? allocated then, as the file states it, null where it does not, B
// @column reserved_bytes INTEGER? held by the allocator then, as the file states it, null where it does not, B
// @column net_bytes INTEGER allocated less freed since the recording began, B
// @column bytes INTEGER bytes allocated by the row, negative where they are freed, B
// @column source_index INTEGER 0-based position of the row in the file's traceEvents
// @column name STRING? operator that was open on the thread, else the innermost event, null where none was
// Order: rank, device type, device, time.
// Empty when: the trace has no memory rows, which profile_memory=True records.
// Needs: Allocation.
// Cost: reads the memory rows up to the window's end.

// Where there are more rows than the device may have, they are cut into stretches of equally many, of which the rows
// with the most and the least allocated and with the most reserved stay.
// @include device_memory
WITH collect({rows: rows}) AS devices
UNWIND devices AS one
WITH one.rows AS rows, $limit / size(devices) AS most
CALL (rows, most) {
  WITH rows WHERE size(rows) <= most
  UNWIND rows AS a
  RETURN a
UNION ALL
  WITH rows WHERE size(rows) > most
  UNWIND range(0, size(rows) - 1) AS i
  WITH i, rows[i] AS a
  WITH i, i * (most / 3) / size(rows) AS stretch, coalesce(a.allocated_bytes, a.net_bytes) AS allocated,
    coalesce(a.reserved_bytes, 0) AS reserved
  WITH stretch, max([allocated, -i]) AS highest, min([allocated, i]) AS lowest, max([reserved, -i]) AS widest
  UNWIND [-highest[1], lowest[1], -widest[1]] AS i
  WITH DISTINCT i
  RETURN rows[i] AS a
}
OPTIONAL MATCH (a)-[:DURING]->(e:Event)
RETURN a.rank AS rank, a.device_type AS device_type, a.device AS device,
  CASE WHEN a.at_ns < $start_ns THEN $start_ns ELSE a.at_ns END AS at_ns, a.allocated_bytes AS allocated_bytes,
  a.reserved_bytes AS reserved_bytes, a.net_bytes AS net_bytes, a.bytes AS bytes, a.source_index AS source_index,
  e.name AS name
ORDER BY rank, device_type, device, a.at_ns, source_index
