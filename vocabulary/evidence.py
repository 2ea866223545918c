"""How something is known."""

EVIDENCE = ("recorded", "inferred")
"""From what the file states, or from what can be told by it."""
