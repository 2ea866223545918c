"""How communication uses the links between GPUs and between nodes, and how much of it computing hides."""
