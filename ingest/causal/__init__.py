"""From the events of a trace to its causal graph: rules, what binds every start, the path, replays."""
