"""How a change replaces work, dependencies and waits of a graph by others."""
