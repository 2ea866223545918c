"""The causal graph: segments, dependencies between them, its replay, and the critical path."""
