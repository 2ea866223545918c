// Where the window is that of a step: each rank's own step of that number.
OPTIONAL MATCH (t:Step {run: $run}) WHERE t.start_ns = $start_ns AND t.window_end_ns = $end_ns
WITH min(t.number) AS number
OPTIONAL MATCH (t:Step {run: $run}) WHERE t.number = number
WITH t.rank AS rank, min(t.start_ns) AS start_ns, max(t.window_end_ns) AS end_ns
WITH collect({rank: rank, start_ns: start_ns, end_ns: end_ns}) AS own
