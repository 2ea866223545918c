// The collectives of each rank, and how long their rows are.
MATCH (e:Event {run: $run})
WHERE e.name STARTS WITH 'gloo:' OR e.name STARTS WITH 'nccl'
RETURN e.rank AS rank, e.name AS name, count(*) AS count, sum(e.duration_ns) AS total_ns
ORDER BY name, rank
