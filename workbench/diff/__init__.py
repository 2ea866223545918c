"""Two runs, ranks or steps compared: which windows, what differs, and what of the path explains it."""
