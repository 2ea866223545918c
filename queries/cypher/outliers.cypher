// Events that last far longer than others of their name, and take much of a window.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param part FLOAT least share of the window that one of them takes itself, 0..1, default 0.2
// @param times FLOAT how many times as long as the median of the others it is at least, default 20
// @param least_count INTEGER least number of events of the name, default 5
// @column name STRING name of the events
// @column category STRING Kineto category
// @column rank INTEGER rank of the longest
// @column source_index INTEGER the longest: 0-based position in the file's traceEvents list
// @column duration_ns INTEGER how long it lasts, ns
// @column median_ns INTEGER median of the others, ns
// @column count INTEGER number of events of the name
// @column long_count INTEGER how many of them last so, and half as long as the longest
// Order: duration, longest first, then name and category.
// Empty when: nothing stands out so.
// Cost: reads the lanes; where an event of one lasts that long, all events of the run twice.
// Index: needs none.

// Few runs have such an event, and a lane knows its longest.
MATCH (l:Lane {run: $run})
WITH max(l.longest_ns) AS longest_ns WHERE longest_ns >= $part * ($end_ns - $start_ns)
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
WITH o.name AS name, o.category AS category, o
ORDER BY o.duration_ns DESC, o.rank, o.source_index
WITH name, category, collect([o.duration_ns, o.rank, o.source_index]) AS rows
WHERE size(rows) >= $least_count
WITH name, category, rows, rows[0] AS longest, rows[toInteger(size(rows) / 2)][0] AS median_ns
WHERE longest[0] >= $times * median_ns
RETURN name, category, longest[1] AS rank, longest[2] AS source_index, longest[0] AS duration_ns, median_ns,
  size(rows) AS count, size([row IN rows WHERE row[0] >= $times * median_ns AND 2 * row[0] >= longest[0]]) AS long_count
ORDER BY duration_ns DESC, name, category
