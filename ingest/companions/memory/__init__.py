"""Recordings of memory: snapshots of the CUDA allocator, PyTorch's memory timelines, traces' memory rows."""
