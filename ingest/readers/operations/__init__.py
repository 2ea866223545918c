"""Operation logs: tables in which each row is an operation of a worker, with its step, type and times."""
