// An event and what runs inside it, down to a depth.
// @param run STRING name of the run
// @param source_index INTEGER 0-based position of the event in its file's traceEvents
// @param rank INTEGER rank of the process, default 0 (a command: the first of the run)
// @param depth INTEGER levels below the event, 0..50, default 3
// @param limit INTEGER rows listed, 1..100000, default 200
// @column depth INTEGER levels below the event, 0 for itself
// @column source_index INTEGER 0-based position in the file's traceEvents
// @column parent INTEGER? source_index of the event it runs inside, null for the event itself
// @column name STRING name of the event
// @column category STRING Kineto category
// @column start_ns INTEGER start, ns
// @column end_ns INTEGER end, ns
// @column duration_ns INTEGER duration as the file states it, ns
// @column self_ns INTEGER? time in which no child event is open, ns
// Order: start, then depth: the order of a profile's rows.
// Empty when: there is no such event.
// Cost: visits every event inside, up to 50 levels down.

MATCH (root:Event {run: $run, source_index: $source_index, rank: $rank})
MATCH (root)((outer)<-[:CHILD_OF]-(inner)){0,50}(e)
WITH size(inner) AS depth, CASE WHEN size(outer) > 0 THEN last(outer).source_index END AS parent, e
WHERE depth <= $depth
RETURN depth, e.source_index AS source_index, parent, e.name AS name, e.category AS category,
  e.start_ns AS start_ns, e.end_ns AS end_ns, e.duration_ns AS duration_ns, e.self_ns AS self_ns
ORDER BY start_ns, depth, source_index
LIMIT $limit
