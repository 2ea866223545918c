"""How long each stage from a file to a report takes, against the floor measured in the same run."""
