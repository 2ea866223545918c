"""The vocabulary of calls that wait: for GPU work, of all vendors, and in the operating system."""

WAITING = ("Synchronize", "Synchronise", "QueueFinish")
WAITING_FOR_DEVICE = ("DeviceSync", "CtxSync", "SynchronizeDevice")
"""Parts of the names of those that wait for all streams of a device."""
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
