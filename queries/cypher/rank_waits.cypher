// The ranks of a run compared: who waited for whom in collectives, and who made the others wait.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @column rank INTEGER rank of the process
// @column operations INTEGER number of operations that it took part in and whose last member came in the window
// @column last INTEGER how many of these it came to last
// @column waited_ns INTEGER time in which it waited for others, overlapping waits counted once, ns
// @column waited_share FLOAT share of the window in which it waited, 0..1
// @column exposed_wait_ns INTEGER? how much of that it did not compute meanwhile, null of a rank in short, ns
// @column exposed_transfer_ns INTEGER? time in which it transferred and did not compute meanwhile, null likewise, ns
// @column caused_ns INTEGER time in which others waited for it as the last, all of them together, ns
// @column caused_share FLOAT straggler score: share of all waiting that it caused, 0..1
// @column longest_ns INTEGER longest wait for it, ns
// @column in_short BOOLEAN whether only its operations are here, not what it computed (`--detail path`)
// Order: time caused, longest first, then rank.
// Empty when: the run is of one rank: its file does not say what other ranks wait for.

// Of a wait or transfer that reaches out of the window only what lies in it counts, and of what is exposed no more.
MATCH (t:Trace {run: $run})
WITH collect(DISTINCT t.rank) AS ranks, collect(CASE WHEN t.in_short THEN t.rank END) AS short WHERE size(ranks) > 1
CALL (ranks) {
  UNWIND ranks AS rank
  RETURN rank, 0 AS operations, 0 AS last, 0 AS waited_ns, 0 AS exposed_wait_ns, 0 AS exposed_transfer_ns,
    0 AS caused_ns, 0 AS longest_ns
UNION ALL
  // `operation >= 0` lets the index find the operations of the run.
  MATCH (o:Collective {run: $run}) WHERE o.operation >= 0 AND o.start_ns < $end_ns AND o.end_ns > $start_ns
  MATCH (e:Event)-[m:MEMBER_OF]->(o)
  WITH o, e, m, o.rendezvous_ns > $start_ns AND o.rendezvous_ns <= $end_ns AS is_here,
    CASE WHEN o.rendezvous_ns > $end_ns THEN o.rendezvous_ns - $end_ns ELSE 0 END AS later_ns,
    CASE WHEN o.rendezvous_ns < $start_ns THEN 0 ELSE o.rendezvous_ns - $start_ns END AS most_ns,
    CASE WHEN o.end_ns > $end_ns THEN $end_ns ELSE o.end_ns END
      - CASE WHEN o.rendezvous_ns < $start_ns THEN $start_ns ELSE o.rendezvous_ns END AS most_transfer_ns
  UNWIND [false, true] AS of_last
  WITH o, e, m, is_here, of_last, most_transfer_ns,
    [all_ns IN [m.waited_ns, m.waited_once_ns] |
      CASE WHEN all_ns <= later_ns THEN 0 WHEN all_ns > most_ns THEN most_ns - later_ns ELSE all_ns - later_ns END
    ] AS waits
  WITH CASE WHEN of_last THEN o.last_rank ELSE e.rank END AS rank, of_last, is_here AND NOT of_last AS counts,
    e.rank = o.last_rank AS came_last, waits[0] AS alone_ns, waits[1] AS waited_ns,
    CASE WHEN m.exposed_wait_ns < waits[1] THEN m.exposed_wait_ns ELSE waits[1] END AS exposed_wait_ns,
    CASE WHEN most_transfer_ns < 0 THEN 0 WHEN m.exposed_transfer_ns < most_transfer_ns THEN m.exposed_transfer_ns
      ELSE most_transfer_ns END AS exposed_transfer_ns
  RETURN rank, sum(CASE WHEN counts THEN 1 ELSE 0 END) AS operations,
    sum(CASE WHEN counts AND came_last THEN 1 ELSE 0 END) AS last,
    sum(CASE WHEN of_last THEN 0 ELSE waited_ns END) AS waited_ns,
    sum(CASE WHEN of_last THEN 0 ELSE exposed_wait_ns END) AS exposed_wait_ns,
    sum(CASE WHEN of_last THEN 0 ELSE exposed_transfer_ns END) AS exposed_transfer_ns,
    sum(CASE WHEN of_last THEN waited_ns ELSE 0 END) AS caused_ns,
    max(CASE WHEN of_last THEN alone_ns ELSE 0 END) AS longest_ns
}
WITH short, rank, sum(operations) AS operations, sum(last) AS last, sum(waited_ns) AS waited_ns,
  sum(exposed_wait_ns) AS exposed_wait_ns, sum(exposed_transfer_ns) AS exposed_transfer_ns,
  sum(caused_ns) AS caused_ns, max(longest_ns) AS longest_ns
WITH short, collect({rank: rank, operations: operations, last: last, waited_ns: waited_ns, exposed_wait_ns: exposed_wait_ns,
  exposed_transfer_ns: exposed_transfer_ns, caused_ns: caused_ns, longest_ns: longest_ns}) AS ranks,
  sum(caused_ns) AS all_ns
UNWIND ranks AS one
WITH one, all_ns, one.rank IN short AS in_short
RETURN one.rank AS rank, one.operations AS operations, one.last AS last, one.waited_ns AS waited_ns,
  toFloat(one.waited_ns) / ($end_ns - $start_ns) AS waited_share,
  CASE WHEN NOT in_short THEN one.exposed_wait_ns END AS exposed_wait_ns,
  CASE WHEN NOT in_short THEN one.exposed_transfer_ns END AS exposed_transfer_ns, one.caused_ns AS caused_ns,
  CASE all_ns WHEN 0 THEN 0.0 ELSE toFloat(one.caused_ns) / all_ns END AS caused_share, one.longest_ns AS longest_ns,
  in_short
ORDER BY caused_ns DESC, rank
