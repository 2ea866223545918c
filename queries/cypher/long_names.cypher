// Names of which one event takes much of a window itself, and how long each of their events lasts.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param part FLOAT least share of the window that one of them takes itself, 0..1, default 0.2
// @column name STRING name of the events
// @column category STRING Kineto category
// @column events LIST of each in the window: duration, ns; rank; 0-based position in the file's traceEvents list
// Order: name, then category.
// Empty when: no event takes that much.
// Cost: reads all events of the run twice; lists instead of rows.
// Index: needs none.

MATCH (e:Event {run: $run})
// Nothing else is read of an event that is short. What runs inside others counts by what it does itself.
WHERE CASE WHEN e.end_ns - e.start_ns >= $part * ($end_ns - $start_ns)
  THEN coalesce(e.self_ns, e.duration_ns) >= $part * ($end_ns - $start_ns)
    AND e.start_ns < $end_ns AND e.end_ns > $start_ns AND e.lane IS NOT NULL
  ELSE false END
WITH collect(DISTINCT e.name) AS names
WHERE size(names) > 0
MATCH (o:Event {run: $run})
WHERE o.name IN names AND o.start_ns < $end_ns AND o.end_ns > $start_ns AND o.lane IS NOT NULL
RETURN o.name AS name, o.category AS category, collect([o.duration_ns, o.rank, o.source_index]) AS events
ORDER BY name, category
