// The run that was ingested last and is completely stored; a scenario only where there is nothing else.
// @column name STRING name of the run
// Empty when: no run is ready.
// Index: needs none.

MATCH (r:Run {state: 'ready'})
RETURN r.name AS name
ORDER BY r.scenario_of IS NOT NULL, r.created DESC, name
LIMIT 1
