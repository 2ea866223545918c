"""New databases made by Neo4j's offline import, beside the one that serves."""
