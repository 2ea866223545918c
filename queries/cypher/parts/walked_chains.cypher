// The chains on the path: until when, and whether on a stream. The lanes are read once, not for each chain.
WITH collect(exit) AS exits
MATCH (l:Lane {run: $run})
WITH exits, collect(CASE l.kind WHEN 'stream' THEN l.lane END) AS streams
UNWIND exits AS exit
MATCH (c:Chain {run: $run, chain: exit.chain})
WITH c, exit.exit_ns AS exit_ns, c.lane IN streams AS on_gpu
