"""What is made of the rows of Cypher modules: trees, sums, comparisons, outlines."""
