// The longest events whose name begins with a text.
// @param run STRING name of the run
// @param name STRING beginning of the name, upper and lower case as written
// @param limit INTEGER rows listed, 1..1000000, default 20
// @column rank INTEGER rank of the process
// @column source_index INTEGER 0-based position in the file's traceEvents
// @column name STRING name of the event
// @column category STRING Kineto category
// @column lane INTEGER? lane id
// @column start_ns INTEGER start, ns
// @column end_ns INTEGER end, ns
// @column duration_ns INTEGER duration as the file states it, ns
// @column self_ns INTEGER? time in which no child event is open, ns
// @column step INTEGER? number of the step
// Order: duration, longest first, then start.
// Empty when: no event has such a name.
// Cost: reads the names of all events of the run.

MATCH (e:Event {run: $run}) WHERE e.name STARTS WITH $name
RETURN e.rank AS rank, e.source_index AS source_index, e.name AS name, e.category AS category, e.lane AS lane,
  e.start_ns AS start_ns, e.end_ns AS end_ns, e.duration_ns AS duration_ns, e.self_ns AS self_ns,
  e.step AS step
ORDER BY duration_ns DESC, start_ns, source_index
LIMIT $limit
