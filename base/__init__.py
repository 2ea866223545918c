"""Plain tools that know nothing of traces: errors, progress, locks, memory, processes at once."""
