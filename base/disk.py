"""Free space: known before anything is started or written, and said as what it is."""

import shutil
from pathlib import Path

from tracegraph.base.errors import StoreError

LEAST_FREE_BYTES = 8 << 20
"""With less Neo4j neither starts nor stops: it waits for its own log."""


def free_bytes(folder: Path) -> int:
    """Free space of the disk with a folder."""
    return shutil.disk_usage(folder).free


def is_full(folder: Path) -> bool:
    """Whether the disk with a folder has too little space for a server."""
    return free_bytes(folder) < LEAST_FREE_BYTES


def full(folder: Path) -> StoreError:
    """Return the error that says that the disk with a folder is full."""
    return StoreError(
        f"the disk with {folder} is full ({free_bytes(folder) >> 10} KiB free)",
        "free some space there, or what deleted runs and cut off loads hold: tracegraph db compact; "
        "or choose another folder with --workspace",
    )


def check_space(folder: Path) -> None:
    """Raise StoreError where the disk with a folder is full."""
    if is_full(folder):
        raise full(folder)
