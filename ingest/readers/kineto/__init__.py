"""Kineto traces, as torch.profiler writes them: JSON in the Chrome trace event format, and Parquet of it."""
