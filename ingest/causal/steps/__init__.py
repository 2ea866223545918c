"""Steps and phases of a run: marked by its program, or inferred."""
