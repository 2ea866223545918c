"""The causal graph of a run as an object that can be edited."""
