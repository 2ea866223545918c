"""Rules about work on GPUs: launches, streams, graphs, waits of the host."""
