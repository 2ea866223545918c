// The ranks compared in each step: who waited in collectives, and who made the others wait.
// @param run STRING name of the run
// @column number INTEGER number of the step
// @column rank INTEGER rank of the process
// @column length_ns INTEGER length of the step on this rank, 0 where its steps are not here, ns
// @column operations INTEGER number of operations of the step that it took part in
// @column last INTEGER how many of these it came to last
// @column waited_ns INTEGER time in which it waited for others, overlapping waits counted once, ns
// @column caused_ns INTEGER time in which others waited for it as the last, all of them together, ns
// @column caused_share FLOAT share of all waiting in the step that it caused, 0..1
// Order: number, time caused, longest first, then rank.
// Empty when: no file has steps, or the run is of one rank: its file does not say what other ranks wait for.

// The step of an operation is that of the member that came last.
MATCH (t:Trace {run: $run})
WITH count(DISTINCT t.rank) AS ranks WHERE ranks > 1
CALL (ranks) {
  MATCH (t:Step {run: $run})
  RETURN t.number AS number, t.rank AS rank, t.window_end_ns - t.start_ns AS length_ns, 0 AS operations, 0 AS last,
    0 AS waited_ns, 0 AS caused_ns
UNION ALL
  // `operation >= 0` lets the index find the operations of the run.
  MATCH (o:Collective {run: $run}) WHERE o.operation >= 0
  MATCH (e:Event)-[m:MEMBER_OF]->(o)
  WITH o, collect({event: e, waited_ns: m.waited_once_ns}) AS members
  WITH o, members, head([one IN members WHERE one.event.rank = o.last_rank | one.event.step]) AS number
  WHERE number IS NOT NULL
  UNWIND [
    one IN members | {rank: one.event.rank, operations: 1, waited_ns: one.waited_ns, caused_ns: 0,
      last: CASE one.event.rank WHEN o.last_rank THEN 1 ELSE 0 END}
  ] + [{rank: o.last_rank, operations: 0, last: 0, waited_ns: 0,
    caused_ns: reduce(total = 0, one IN members | total + one.waited_ns)}] AS part
  RETURN number, part.rank AS rank, 0 AS length_ns, part.operations AS operations, part.last AS last,
    part.waited_ns AS waited_ns, part.caused_ns AS caused_ns
}
WITH number, rank, max(length_ns) AS length_ns, sum(operations) AS operations, sum(last) AS last,
  sum(waited_ns) AS waited_ns, sum(caused_ns) AS caused_ns
WITH number, sum(caused_ns) AS all_ns, collect({rank: rank, length_ns: length_ns, operations: operations, last: last,
  waited_ns: waited_ns, caused_ns: caused_ns}) AS ranks
UNWIND ranks AS one
RETURN number, one.rank AS rank, one.length_ns AS length_ns, one.operations AS operations, one.last AS last,
  one.waited_ns AS waited_ns, one.caused_ns AS caused_ns,
  CASE all_ns WHEN 0 THEN 0.0 ELSE toFloat(one.caused_ns) / all_ns END AS caused_share
ORDER BY number, caused_ns DESC, rank
