"""The managed server's process: its home, its guardian, which database it serves, and what failed."""
