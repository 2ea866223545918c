"""What a change does to a graph: work, dependencies and waits that become others."""
