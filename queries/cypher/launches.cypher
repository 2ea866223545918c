// Which call launched a GPU activity, or which activities a call launched.
// @param run STRING name of the run
// @param source_index INTEGER 0-based position of the event in its file's traceEvents
// @param rank INTEGER rank of the process, default 0 (a command: the first of the run)
// @param limit INTEGER rows listed, 1..100000, default 100
// @column call_source_index INTEGER position of the call in the file's traceEvents
// @column call_name STRING name of the call
// @column call_lane INTEGER lane of the call
// @column call_start_ns INTEGER start of the call, ns
// @column call_end_ns INTEGER end of the call, ns
// @column source_index INTEGER position of the activity in the file's traceEvents
// @column name STRING name of the activity
// @column category STRING Kineto category of the activity
// @column lane INTEGER lane of the activity
// @column start_ns INTEGER start of the activity, ns
// @column end_ns INTEGER end of the activity, ns
// @column delay_ns INTEGER from the call's start to the activity's start, ns
// Order: start of the activity.
// Empty when: the event neither launched nor was launched.

MATCH (:Event {run: $run, source_index: $source_index, rank: $rank})-[launch:LAUNCHED]-(:Event)
WITH startNode(launch) AS call, endNode(launch) AS work
RETURN call.source_index AS call_source_index, call.name AS call_name, call.lane AS call_lane,
  call.start_ns AS call_start_ns, call.end_ns AS call_end_ns, work.source_index AS source_index,
  work.name AS name, work.category AS category, work.lane AS lane, work.start_ns AS start_ns,
  work.end_ns AS end_ns, work.start_ns - call.start_ns AS delay_ns
ORDER BY start_ns, end_ns, source_index
LIMIT $limit
