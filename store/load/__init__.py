"""The ways into the database: which one is taken, and the one over Bolt."""
