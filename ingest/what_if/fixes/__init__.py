"""What can be done about a run: each fix is recognised in its graph, and changes it for a replay."""
