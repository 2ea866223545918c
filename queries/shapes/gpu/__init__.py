"""Rows about what GPUs do, and how near they come to what they can do."""
