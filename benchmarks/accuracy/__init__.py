"""The accuracy of the critical path against known truth and on real files, for benchmarks/results."""
