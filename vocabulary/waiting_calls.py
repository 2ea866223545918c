"""The vocabulary of calls that return only after earlier work, of all vendors: parts of their names."""

WAITING = ("Synchronize", "Synchronise", "QueueFinish")
WAITING_FOR_DEVICE = ("DeviceSync", "CtxSync", "SynchronizeDevice")
"""Parts of the names of those that wait for all streams of a device."""
