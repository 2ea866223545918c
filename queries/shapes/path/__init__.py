"""What the critical path is made of: in time order, by call stack, by step and by phase."""
