"""From the events of a trace to its causal graph: rules, binding causes, the critical path, replays."""
