"""Several ranks of one job: their clocks, the operations in which they met, and one causal graph."""
