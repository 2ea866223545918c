// The walk: from the chain that the path ends in back over LEADS_TO; a chain on the way is left at at_ns, so its
// segments up to there are on the path. Each chain has one incoming LEADS_TO: the hop is read from the chain it enters.
MATCH (last:Chain {run: $run, chain: $chain})
MATCH (last)((effect WHERE effect.start_ns > $start_ns)<-[:LEADS_TO]-()){0,}(link)
WITH DISTINCT link
MATCH (cause:Chain)-[hop:LEADS_TO]->(link) WHERE link.start_ns > $start_ns
WITH collect({chain: cause.chain, exit_ns: hop.at_ns}) + [{chain: $chain, exit_ns: $end_ns}] AS exits
UNWIND exits AS exit
