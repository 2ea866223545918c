"""Memory that columns took is given back to the system as soon as they are dropped."""

import ctypes
from contextlib import suppress

import pyarrow as pa

_M_MMAP_THRESHOLD = -3
_BLOCK_BYTES = 1 << 20


def release_dropped_columns() -> None:
    """Let blocks of a MiB and more go back to the system when they are freed, from now on.

    glibc learns to keep blocks of up to 32 MiB for itself, and Arrow's pool keeps more: for a million events
    that was 270 MB. Does nothing where the C library has no such setting.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _BLOCK_BYTES)
    pa.set_memory_pool(pa.system_memory_pool())
