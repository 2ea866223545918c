"""The vocabulary of calls that take and give back GPU memory, of all vendors: parts of their names."""

ALLOCATE = ("Malloc", "MemAlloc", "MemCreate", "DeviceAlloc", "SharedAlloc")
FREE = ("Free", "Dealloc", "MemRelease", "MemUnmap")
WITHOUT_WAITING = ("Async", "Host", "Array")
"""In names of calls that are none of either: they concern a stream, or other memory."""
WAITING_FREES = ("cudaFree", "hipFree")
"""Whole names of calls that wait for their device without saying so: memory may be in use until all its work
has ended."""
