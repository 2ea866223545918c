"""The graph that changes are replayed on, and what segments are in it."""
