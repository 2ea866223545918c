"""The causal graph of a run as node and relationship tables, in the columns of the schema."""
