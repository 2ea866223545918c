"""The vocabulary of calls by parts of their names: into runtimes of all vendors, and waits in the system."""

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
SYSTEM_WAITS = (
    "accept",
    "clock_nanosleep",
    "epoll_pwait",
    "epoll_wait",
    "flock",
    "futex",
    "io_getevents",
    "mq_timedreceive",
    "msgrcv",
    "nanosleep",
    "pause",
    "poll",
    "ppoll",
    "pselect",
    "pthread_barrier_wait",
    "pthread_cond_",
    "pthread_join",
    "pthread_mutex_lock",
    "pthread_mutex_timedlock",
    "pthread_rwlock_",
    "pthread_timedjoin",
    "pthread_tryjoin",
    "recv",
    "sched_yield",
    "select",
    "sem_timedwait",
    "sem_wait",
    "semop",
    "semtimedop",
    "sigsuspend",
    "sigtimedwait",
    "sigwait",
    "sleep",
    "usleep",
    "wait",
)
"""Calls of POSIX and Linux that return when something happens elsewhere, or when time is up.

`pthread_cond_signal` and other calls that wake do so in a moment; reads and writes move data and are work.
"""
SYSTEM_SIGNALS = (
    "pthread_cond_signal",
    "pthread_cond_broadcast",
    "pthread_cond_init",
    "pthread_cond_destroy",
)
"""Those of them, by these beginnings, that do not wait."""


def waits_in_system(name: str) -> bool:
    """Tell whether a call of this name into the operating system waits."""
    return name.startswith(SYSTEM_WAITS) and not name.startswith(SYSTEM_SIGNALS)
