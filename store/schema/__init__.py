"""The graph's labels, relationships and properties, the statements that create them, and their page."""
