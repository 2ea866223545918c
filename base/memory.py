"""Memory that columns took: kept for the next ones, and given back to the system where that was asked for."""

import ctypes
from contextlib import suppress

import pyarrow as pa

# Numbers of malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGEST_BLOCK_BYTES = 1 << 30
_NEVER = (1 << 31) - 1


def reuse_dropped_columns() -> None:
    """Keep memory that is freed for the next columns, from now on, until `give_back_memory`.

    glibc would map a block for each large column and unmap it, so that the system clears every page anew: a
    quarter of the time to build the tables of a million events. Arrow's own pool would keep its part for
    itself. Does nothing where the C library has no such setting.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, _LARGEST_BLOCK_BYTES)
        library.mallopt(_M_TRIM_THRESHOLD, _NEVER)
    pa.set_memory_pool(pa.system_memory_pool())


def give_back_memory() -> None:
    """Give what is free back to the system: before columns of other sizes, for which it would not do."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
