"""Parts of the graph drawn as DOT, and DOT drawn as pictures."""
