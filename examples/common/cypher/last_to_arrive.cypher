// For each rank: to how many collectives it came last, so that the others waited for it.
MATCH (o:Collective {run: $run})
RETURN o.last_rank AS rank, count(*) AS arrived_last
ORDER BY arrived_last DESC, rank
