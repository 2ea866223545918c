// The operations in which ranks met: who came last, how far apart they came, and what the transfer took.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param limit INTEGER rows listed, 1..1000000, default 100
// @column operation INTEGER id of the operation, in the order of time
// @column name STRING kind of operation, such as `all_reduce`
// @column group STRING? name of the process group, null where no file states it
// @column group_sequence INTEGER? number of the operation in its group, null where no file states it
// @column members INTEGER number of ranks whose part is here
// @column missing STRING JSON list of ranks of the group whose part is not here
// @column start_ns INTEGER when the first member came, ns
// @column end_ns INTEGER when the last member left, ns
// @column last_rank INTEGER rank that came last
// @column skew_ns INTEGER how long after the first member the last one came, ns
// @column transfer_ns INTEGER from then on until the last one left, ns
// @column bytes INTEGER? data of the operation as NCCL's tests count it, B
// @column algorithm_bandwidth FLOAT? data by the time of the transfer, B/s
// @column bus_bandwidth FLOAT? the same as links carry it, comparable between kinds and numbers of ranks, B/s
// @column cause STRING what it takes so long for: `transfer`, `late arrival`, `mixed`, or `unknown`
// @column evidence STRING `recorded`: ids match its members; `inferred`: their order does
// @column confidence FLOAT how sure the match is, 0..1
// Order: skew, longest first, then time.
// Empty when: the run is of one file, or its files share no operation.

// What the clocks of ranks leave open belongs neither to the skew nor to the transfer.
MATCH (t:Trace {run: $run})
WITH max(coalesce(t.rank_spread_ns, 0)) AS noise_ns
// `operation >= 0` lets the index find the operations of the run.
MATCH (o:Collective {run: $run})
WHERE o.operation >= 0 AND o.rendezvous_ns > $start_ns AND o.rendezvous_ns <= $end_ns
WITH o, noise_ns, o.rendezvous_ns - o.start_ns AS skew_ns, o.end_ns - o.rendezvous_ns AS transfer_ns
ORDER BY skew_ns DESC, o.operation LIMIT $limit
WITH o, skew_ns, transfer_ns, skew_ns - noise_ns AS least_ns, skew_ns + noise_ns AS most_ns,
  toFloat(skew_ns + transfer_ns) AS whole_ns,
  CASE WHEN transfer_ns > 0 THEN o.bytes * 1e9 / transfer_ns END AS bandwidth
WITH o, skew_ns, transfer_ns, bandwidth, CASE
    WHEN least_ns > 0 AND least_ns >= 2 * whole_ns / 3 THEN 'late arrival'
    // A rank whose part is not here may come later still.
    WHEN o.missing <> '[]' THEN 'unknown'
    WHEN most_ns <= whole_ns / 3 THEN 'transfer'
    WHEN least_ns > whole_ns / 3 AND most_ns < 2 * whole_ns / 3 THEN 'mixed'
    ELSE 'unknown'
  END AS cause
RETURN o.operation AS operation, o.name AS name, o.group AS group, o.group_sequence AS group_sequence,
  o.members AS members, o.missing AS missing, o.start_ns AS start_ns, o.end_ns AS end_ns, o.last_rank AS last_rank,
  skew_ns, transfer_ns, o.bytes AS bytes, bandwidth AS algorithm_bandwidth,
  bandwidth * o.bus_factor AS bus_bandwidth, cause, o.evidence AS evidence, o.confidence AS confidence
ORDER BY skew_ns DESC, operation
