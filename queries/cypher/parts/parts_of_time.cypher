// The chains of the run by parts of its time, for what reads all segments: one transaction is read by one core, so each
// part is read in one of its own. A row has the part's bounds, since_ns and until_ns, and the chains in it.
// `chain >= 0` lets the index on (run, chain) find the chains of the run.
MATCH (c:Chain {run: $run}) WHERE c.chain >= 0
WITH collect(c) AS chains, min(c.start_ns) AS first_ns, (max(c.end_ns) - min(c.start_ns)) / 64 + 1 AS part_ns
UNWIND chains AS c
UNWIND range((c.start_ns - first_ns) / part_ns, (c.end_ns - first_ns) / part_ns) AS part
WITH first_ns + part * part_ns AS since_ns, first_ns + (part + 1) * part_ns AS until_ns, collect(c.chain) AS chains
