"""Puts the GPU's clock on the CPU's, and handles times that are impossible."""
