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
// Cost: reads the names of all events of the run; lists instead of rows.
// Index: needs none.

WITH split($beginnings, '\n') AS beginnings
WITH beginnings, reduce(
  least = size(beginnings[0]), one IN beginnings | CASE WHEN size(one) < least THEN size(one) ELSE least END
) AS letters
// The first letters rule nearly every name out, so that few are compared with all beginnings.
WITH beginnings, letters, [one IN beginnings | left(one, letters)] AS firsts
CALL (beginnings, letters, firsts) {
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
