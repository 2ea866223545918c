// The operations in which ranks met by kind, group and size: how many, how long they waited and transferred.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param limit INTEGER rows listed, 1..1000000, default 100
// @column name STRING kind of operation, such as `all_reduce`
// @column group STRING? name of the process group, null where no file states it
// @column bytes INTEGER? data of one operation as NCCL's tests count it, B
// @column count INTEGER number of operations
// @column skew_ns INTEGER how long after the first members the last ones came, all together, ns
// @column median_skew_ns INTEGER median of that of one operation, ns
// @column longest_skew_ns INTEGER longest of them, ns
// @column transfer_ns INTEGER from then on until the last ones left, all together, ns
// @column median_transfer_ns INTEGER median of that of one operation, ns
// @column bus_bandwidth FLOAT? median bus bandwidth, B/s
// @column confidence FLOAT how sure the least sure match is, 0..1
// Order: skew and transfer together, longest first, then name, group and bytes.
// Empty when: the run is of one file, or its files share no operation.

// `operation >= 0` lets the index find the operations of the run.
MATCH (o:Collective {run: $run})
WHERE o.operation >= 0 AND o.rendezvous_ns > $start_ns AND o.rendezvous_ns <= $end_ns
WITH o, o.rendezvous_ns - o.start_ns AS skew_ns, o.end_ns - o.rendezvous_ns AS transfer_ns
WITH o.name AS name, o.group AS group, o.bytes AS bytes, count(*) AS count,
  sum(skew_ns) AS skew_ns, percentileDisc(skew_ns, 0.5) AS median_skew_ns, max(skew_ns) AS longest_skew_ns,
  sum(transfer_ns) AS transfer_ns, percentileDisc(transfer_ns, 0.5) AS median_transfer_ns,
  percentileCont(CASE WHEN transfer_ns > 0 THEN o.bytes * o.bus_factor * 1e9 / transfer_ns END, 0.5) AS bus_bandwidth,
  min(o.confidence) AS confidence
RETURN name, group, bytes, count, skew_ns, median_skew_ns, longest_skew_ns, transfer_ns, median_transfer_ns,
  bus_bandwidth, confidence
ORDER BY skew_ns + transfer_ns DESC, name, group, bytes LIMIT $limit
