"""The two kinds of evidence."""

EVIDENCE = ("recorded", "inferred")
"""`recorded`: the file states it. `inferred`: it was concluded from what the file states."""
