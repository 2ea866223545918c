"""The vocabulary of calls into runtimes, of all vendors, by parts of their names: waits and memory."""

WAITING = ("Synchronize", "Synchronise", "QueueFinish")
"""Of calls that return only after earlier work."""
WAITING_FOR_DEVICE = ("DeviceSync", "CtxSync", "SynchronizeDevice")
"""Of those that wait for all streams of a device."""
ALLOCATE = ("Malloc", "MemAlloc", "MemCreate", "DeviceAlloc", "SharedAlloc")
FREE = ("Free", "Dealloc", "MemRelease", "MemUnmap")
WITHOUT_WAITING = ("Async", "Host", "Array")
"""Of calls that count as neither: they concern a stream, or other memory."""
WAITING_FREES = ("cudaFree", "hipFree")
"""Whole names of calls that wait for their device although their names do not say so.

The memory may be in use until all work of the device has ended.
"""
