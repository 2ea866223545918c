"""The memory of columns: kept for the next columns, or given back to the system."""

import ctypes
from contextlib import suppress

import pyarrow as pa

# The numbers of these settings in malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_LARGEST_BLOCK_BYTES = 1 << 30
"""Blocks up to this size come from the heap, which keeps them, instead of a mapping of their own."""
_NEVER = (1 << 31) - 1
"""The largest C int: the heap is not trimmed before it has that many free bytes."""


def reuse_dropped_columns() -> None:
    """Keep freed memory for the next columns, from now on, until `give_back_memory`.

    By default glibc maps a block for each large column and unmaps it again, so that the system clears every
    page anew. That took a quarter of the time to build the tables of a million events. Arrow's own pool would
    keep its part for itself, so the system's pool replaces it. All threads share one heap, so that each can
    take what another one dropped. Nothing happens if the C library has no such setting.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, _LARGEST_BLOCK_BYTES)
        library.mallopt(_M_TRIM_THRESHOLD, _NEVER)
        library.mallopt(_M_ARENA_MAX, 1)
    pa.set_memory_pool(pa.system_memory_pool())


def give_back_memory() -> None:
    """Give free memory back to the system, before columns of other sizes, which could not reuse it."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
