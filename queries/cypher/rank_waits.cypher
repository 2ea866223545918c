// The ranks of a run compared: who waited for whom in collectives, and who made the others wait.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @column rank INTEGER rank of the process
// @column operations INTEGER number of operations that it took part in
// @column last INTEGER how many of these it came to last
// @column waited_ns INTEGER time in which it waited for others, overlapping waits counted once, ns
// @column waited_share FLOAT share of the window in which it waited, 0..1
// @column exposed_wait_ns INTEGER how much of that it did not compute meanwhile, ns
// @column exposed_transfer_ns INTEGER time in which it transferred and did not compute meanwhile, ns
// @column caused_ns INTEGER time in which others waited for it as the last, all of them together, ns
// @column caused_share FLOAT straggler score: share of all waiting that it caused, 0..1
// @column longest_ns INTEGER longest wait for it, ns
// Order: time caused, longest first, then rank.
// Empty when: there is no such run; a run of one file has its rank, without operations.

CALL () {
  MATCH (t:Trace {run: $run})
  RETURN t.rank AS rank, 0 AS operations, 0 AS last, 0 AS waited_ns, 0 AS exposed_wait_ns, 0 AS exposed_transfer_ns,
    0 AS caused_ns, 0 AS longest_ns
UNION ALL
  // `operation >= 0` lets the index find the operations of the run.
  MATCH (o:Collective {run: $run})
  WHERE o.operation >= 0 AND o.rendezvous_ns > $start_ns AND o.rendezvous_ns <= $end_ns
  MATCH (e:Event)-[m:MEMBER_OF]->(o)
  RETURN e.rank AS rank, count(*) AS operations, sum(CASE e.rank WHEN o.last_rank THEN 1 ELSE 0 END) AS last,
    sum(m.waited_once_ns) AS waited_ns, sum(m.exposed_wait_ns) AS exposed_wait_ns,
    sum(m.exposed_transfer_ns) AS exposed_transfer_ns, 0 AS caused_ns, 0 AS longest_ns
UNION ALL
  MATCH (o:Collective {run: $run})
  WHERE o.operation >= 0 AND o.rendezvous_ns > $start_ns AND o.rendezvous_ns <= $end_ns
  MATCH (:Event)-[m:MEMBER_OF]->(o)
  RETURN o.last_rank AS rank, 0 AS operations, 0 AS last, 0 AS waited_ns, 0 AS exposed_wait_ns,
    0 AS exposed_transfer_ns, sum(m.waited_once_ns) AS caused_ns, max(m.waited_ns) AS longest_ns
}
WITH rank, sum(operations) AS operations, sum(last) AS last, sum(waited_ns) AS waited_ns,
  sum(exposed_wait_ns) AS exposed_wait_ns, sum(exposed_transfer_ns) AS exposed_transfer_ns,
  sum(caused_ns) AS caused_ns, max(longest_ns) AS longest_ns
WITH collect({rank: rank, operations: operations, last: last, waited_ns: waited_ns, exposed_wait_ns: exposed_wait_ns,
  exposed_transfer_ns: exposed_transfer_ns, caused_ns: caused_ns, longest_ns: longest_ns}) AS ranks,
  sum(caused_ns) AS all_ns
UNWIND ranks AS one
RETURN one.rank AS rank, one.operations AS operations, one.last AS last, one.waited_ns AS waited_ns,
  toFloat(one.waited_ns) / ($end_ns - $start_ns) AS waited_share, one.exposed_wait_ns AS exposed_wait_ns,
  one.exposed_transfer_ns AS exposed_transfer_ns, one.caused_ns AS caused_ns,
  CASE all_ns WHEN 0 THEN 0.0 ELSE toFloat(one.caused_ns) / all_ns END AS caused_share, one.longest_ns AS longest_ns
ORDER BY caused_ns DESC, rank
