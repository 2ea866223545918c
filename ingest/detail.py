"""How much of the ranks of a job is kept."""

FULL, PATH = "full", "path"
DETAILS = (FULL, PATH)
"""All of each rank, or all of those that the critical path is about and the operations of the others."""
