"""One file for each command, which reads flags, calls the layers below, and prints the answer."""
