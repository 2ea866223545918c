"""The graph on which changes are replayed, and the meaning of its segments."""
