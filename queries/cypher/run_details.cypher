// What is stored about one run as a whole.
// @param run STRING name of the run
// @column name STRING name of the run
// @column state STRING `loading` until everything is stored, then `ready`
// @column created STRING? when it was ingested, ISO 8601, UTC
// @column ranks INTEGER? number of ranks
// @column window_start_ns INTEGER? start of the window, ns
// @column window_end_ns INTEGER? end of the window, ns
// @column end_chain INTEGER? id of the chain that the critical path of that window ends in
// @column cross_thread STRING? policy for cross-thread dependencies chosen at ingest
// @column alternatives STRING? JSON list: the path's summary under each policy, and on recorded edges only
// @column what_next STRING? JSON list: what each of the top hotspots costs, and what is critical without it
// @column potential STRING? JSON list: the largest names and waits of the path, and what is gained without each
// @column fixes STRING? JSON list: what could be done about the run, and what each gains
// @column bounds STRING? JSON object: its length where each resource takes no time, and its floors
// @column stragglers STRING? JSON object: how much slower steps are as operations of a type are not all alike
// @column step_marker STRING? glob of the annotations that mark its steps, null where the profiler does
// @column job STRING? JSON object: what its user said of the job at ingest
// @column tool_version STRING? version of tracegraph that wrote the run
// @column schema_version INTEGER? version of the graph schema
// @column events INTEGER? number of events
// @column nodes INTEGER? number of nodes, counted in the columns
// @column nodes_by_label STRING? JSON object: nodes for each label
// @column relationships STRING? JSON object: relationships for each type
// @column integrity STRING? JSON list of findings about the input
// @column scenario_of STRING? of a scenario, the run that it is a change of
// @column change STRING? of a scenario, JSON object: what was assumed, and what was predicted
// Empty when: there is no such run.
// Index: needs none.

MATCH (r:Run {name: $run})
RETURN r.name AS name, r.state AS state, r.created AS created, r.ranks AS ranks,
  r.window_start_ns AS window_start_ns, r.window_end_ns AS window_end_ns, r.end_chain AS end_chain,
  r.cross_thread AS cross_thread,
  r.alternatives AS alternatives, r.what_next AS what_next, r.potential AS potential,
  r.fixes AS fixes, r.bounds AS bounds, r.stragglers AS stragglers,
  r.step_marker AS step_marker, r.job AS job, r.tool_version AS tool_version,
  r.schema_version AS schema_version, r.events AS events, r.nodes AS nodes,
  r.nodes_by_label AS nodes_by_label, r.relationships AS relationships, r.integrity AS integrity,
  r.scenario_of AS scenario_of, r.change AS change
