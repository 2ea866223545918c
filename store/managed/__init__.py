"""What runs the managed Neo4j: installation, Java, server, its home, and the offline imports into it."""
