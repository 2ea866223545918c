"""The vocabulary of calls that allocate and free GPU memory, of all vendors: parts of their names."""

ALLOCATE = ("Malloc", "MemAlloc", "MemCreate", "DeviceAlloc", "SharedAlloc")
FREE = ("Free", "Dealloc", "MemRelease", "MemUnmap")
WITHOUT_WAITING = ("Async", "Host", "Array")
"""Parts of the names of calls that count as neither: they concern a stream, or other memory."""
WAITING_FREES = ("cudaFree", "hipFree")
"""Whole names of calls that wait for their device although their names do not say so.

The memory may be in use until all work of the device has ended.
"""
