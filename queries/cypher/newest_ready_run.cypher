// The run that was ingested last and is completely stored.
// @column name STRING name of the run
// Empty when: no run is ready.

MATCH (r:Run {state: 'ready'})
RETURN r.name AS name
ORDER BY r.created DESC, name
LIMIT 1
