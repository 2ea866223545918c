"""Recordings of memory: snapshots of the CUDA allocator, and PyTorch's memory timelines."""
