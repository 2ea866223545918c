"""The time of each stage from a file to a report, against the floor measured in the same run."""
