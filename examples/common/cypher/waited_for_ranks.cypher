// For each rank: how long it waited for others inside collectives, overlapping waits counted once.
MATCH (e:Event {run: $run})-[m:MEMBER_OF]->(:Collective)
RETURN e.rank AS rank, count(*) AS collectives, sum(m.waited_once_ns) AS waited_ns
ORDER BY waited_ns DESC, rank
