"""One file for each command: reads flags, calls the rooms below, prints the answer, or a reporter does."""
