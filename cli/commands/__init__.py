"""One file for each command: reads flags, calls the rooms below, hands rows to a reporter."""
