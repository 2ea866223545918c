"""Events on their lanes as arrays: read from a trace, nested into call stacks, marked as steps."""
