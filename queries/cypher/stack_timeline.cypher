// The call stacks of the threads in a window, for drawing: what other events run inside, unless below a pixel.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param pixel_ns INTEGER width of a pixel, ns, 1..1000000000000
// @param limit INTEGER events listed, the longest, 1..1000000, default 20000
// @column lane INTEGER lane id
// @column start_ns INTEGER start, clipped to the window, ns
// @column end_ns INTEGER end, clipped to the window, ns
// @column name STRING name of the event
// @column category STRING Kineto category
// Order: lane, then start, the outermost first.
// Empty when: nothing in the window runs inside anything else.
// Cost: looks at all events of the run.

MATCH (l:Lane {run: $run, kind: 'thread'})
WITH collect(l.lane) AS threads
// An event that nothing cuts is a segment itself, and drawn as one.
MATCH (e:Event {run: $run})
WHERE NOT e:Segment AND e.end_ns - e.start_ns >= $pixel_ns AND e.start_ns < $end_ns AND e.end_ns > $start_ns
  AND e.lane IN threads
WITH e ORDER BY e.end_ns - e.start_ns DESC, e.source_index LIMIT $limit
RETURN e.lane AS lane,
  CASE WHEN e.start_ns < $start_ns THEN $start_ns ELSE e.start_ns END AS start_ns,
  CASE WHEN e.end_ns > $end_ns THEN $end_ns ELSE e.end_ns END AS end_ns, e.name AS name, e.category AS category
ORDER BY e.lane, e.start_ns, e.end_ns DESC, e.source_index
