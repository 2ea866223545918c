"""The GPU's clock put on the CPU's, and times that cannot be."""
