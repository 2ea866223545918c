// The files of a run, one a rank.
// @param run STRING name of the run
// @column rank INTEGER rank of the process
// @column file STRING path of the file as ingested
// @column sha256 STRING SHA-256 of the file's bytes
// @column clock_offset_ns INTEGER added to GPU rows at the window's start so that no effect precedes its cause, ns
// @column clock_drift_ppb INTEGER added to GPU rows besides, for each second since the window's start, ns
// @column rank_offset_ns INTEGER added to all rows at the window's start, to bring them on the first rank's clock, ns
// @column rank_drift_ppb INTEGER added to all rows besides, for each second since then, ns
// @column devices STRING JSON list of device names
// @column versions STRING JSON object: versions that the file states
// @column in_short BOOLEAN whether only its operations with other ranks are here (`--detail path`)
// Order: rank.
// Empty when: there is no such run.
// Index: needs none.

MATCH (t:Trace {run: $run})
RETURN t.rank AS rank, t.file AS file, t.sha256 AS sha256, coalesce(t.clock_offset_ns, 0) AS clock_offset_ns,
  coalesce(t.clock_drift_ppb, 0) AS clock_drift_ppb,
  coalesce(t.rank_offset_ns, 0) AS rank_offset_ns, coalesce(t.rank_drift_ppb, 0) AS rank_drift_ppb,
  coalesce(t.devices, '[]') AS devices, coalesce(t.versions, '{}') AS versions,
  coalesce(t.in_short, false) AS in_short
ORDER BY rank
