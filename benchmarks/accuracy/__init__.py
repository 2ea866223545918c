"""The accuracy of the critical path against known truth and on real files, for docs/accuracy.md."""
