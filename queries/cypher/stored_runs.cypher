// All runs of the workspace, newest first.
// @column name STRING name of the run
// @column state STRING `loading` until everything is stored, then `ready`
// @column created STRING? when it was ingested, ISO 8601, UTC
// @column ranks INTEGER? number of ranks
// @column events INTEGER? number of events
// @column nodes INTEGER? number of nodes
// @column duration_ns INTEGER? length of the window, ns
// @column scenario_of STRING? of a scenario, the run that it is a change of
// @column bounds LIST what bounds it, as JSON object of run_details; empty where it is not stored
// Order: created, newest first, then name.
// Empty when: nothing was ingested.

MATCH (r:Run)
RETURN r.name AS name, r.state AS state, r.created AS created, r.ranks AS ranks, r.events AS events,
  r.nodes AS nodes, r.window_end_ns - r.window_start_ns AS duration_ns,
  r.scenario_of AS scenario_of, [told IN [r.bounds] WHERE told IS NOT NULL] AS bounds
ORDER BY created DESC, name
