"""From a trace file to the causal graph, in columns."""
