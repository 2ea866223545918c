"""Java and Neo4j's jars: installed, checked, made fast to start, and their command lines."""
