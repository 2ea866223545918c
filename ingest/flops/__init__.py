"""How many FLOPs operators do and how many bytes they must move, from the shapes that a trace records."""
