"""The vocabulary of calls that return after earlier work, of all vendors: parts of their names."""

WAITING = ("Synchronize", "Synchronise", "QueueFinish")
WAITING_FOR_DEVICE = ("DeviceSync", "CtxSync", "SynchronizeDevice")
"""Those that wait for all streams of a device."""
