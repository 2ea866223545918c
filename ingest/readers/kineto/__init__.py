"""Kineto traces, as torch.profiler writes them: JSON in the Chrome trace event format, or as Parquet."""
