// When events run in a window whose names begin in one of several ways, and GPU work of one type, by name and lane.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param beginnings STRING beginnings of names, one a line, upper and lower case as written
// @param kernel_type STRING? type of the GPU work that is meant, too, such as `communication`
// @column beginning STRING? the first beginning that fits, null for GPU work
// @column kernel_type STRING? type of GPU work
// @column name STRING name of the event
// @column lane INTEGER lane id
// @column start_ns LIST of each: start, ns
// @column end_ns LIST of each: end, ns
// Empty when: no name in the window begins so, and no GPU work is of the type.
// Cost: reads the names of all events of the run if a frame is named so; lists instead of rows.
// Index: needs none.

WITH split($beginnings, '\n') AS beginnings
WITH beginnings, reduce(
  least = size(beginnings[0]), one IN beginnings | CASE WHEN size(one) < least THEN size(one) ELSE least END
) AS letters
// The first letters rule nearly every name out, so that few are compared with all beginnings.
WITH beginnings, letters, [one IN beginnings | left(one, letters)] AS firsts
// Frames are few, and tell whether any event of a thread is named so. What has no place in a lane has no frame.
WITH beginnings, letters, firsts, EXISTS {
  MATCH (f:Frame {run: $run})
  WHERE f.frame >= 0 AND any(beginning IN beginnings WHERE f.name STARTS WITH beginning)
} OR EXISTS {
  MATCH (r:Run {name: $run})
  WHERE any(label IN ['"GpuAnnotation"', '"Sync"', '"Other"'] WHERE r.nodes_by_label CONTAINS label)
} AS may_be
CALL (beginnings, letters, firsts, may_be) {
  WITH * WHERE may_be
  MATCH (e:Event {run: $run})
  WHERE left(e.name, letters) IN firsts AND NOT e:GpuWork
  RETURN e, head([beginning IN beginnings WHERE e.name STARTS WITH beginning]) AS beginning
UNION ALL
  // What GPU work does is told by its type alone, which the user may have stated.
  MATCH (e:GpuWork {run: $run}) WHERE e.kernel_type = $kernel_type
  RETURN e, null AS beginning
}
WITH e, beginning
WHERE (beginning IS NOT NULL OR e:GpuWork)
  AND e.start_ns < $end_ns AND e.end_ns > $start_ns AND e.lane IS NOT NULL
RETURN beginning, e.kernel_type AS kernel_type, e.name AS name, e.lane AS lane,
  collect(e.start_ns) AS start_ns, collect(e.end_ns) AS end_ns
ORDER BY beginning, lane, name
