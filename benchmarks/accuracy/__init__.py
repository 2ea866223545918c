"""How true the critical path is: against known truth and on real files, written into docs/accuracy.md."""
