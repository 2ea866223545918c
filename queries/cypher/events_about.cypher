// Where events run in a window whose names begin in one of several ways.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param beginnings STRING beginnings of names, one a line, upper and lower case as written
// @column beginning STRING the first beginning that fits
// @column lane INTEGER lane id
// @column start_ns INTEGER start, ns
// @column end_ns INTEGER end, ns
// Order: beginning, lane, start, then end.
// Empty when: no name in the window begins so.
// Cost: reads the names of all events of the run.

WITH split($beginnings, '\n') AS beginnings
MATCH (e:Event {run: $run})
WHERE e.start_ns < $end_ns AND e.end_ns > $start_ns AND e.lane IS NOT NULL
  AND any(beginning IN beginnings WHERE e.name STARTS WITH beginning)
RETURN [beginning IN beginnings WHERE e.name STARTS WITH beginning][0] AS beginning,
  e.lane AS lane, e.start_ns AS start_ns, e.end_ns AS end_ns
ORDER BY beginning, lane, start_ns, end_ns
