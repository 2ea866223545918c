"""Free space on a disk, checked before anything is started or written."""

import shutil
from pathlib import Path

from tracegraph.base.errors import StoreError

LEAST_FREE_BYTES = 8 << 20
"""A disk with less free space counts as full: on it Neo4j neither starts nor stops."""


def free_bytes(folder: Path) -> int:
    """Return the free space of the disk that holds a folder."""
    return shutil.disk_usage(folder).free


def is_full(folder: Path) -> bool:
    """Tell whether the disk that holds a folder has too little space for a server."""
    return free_bytes(folder) < LEAST_FREE_BYTES


def full(folder: Path) -> StoreError:
    """Make the error that says that the disk with a folder is full."""
    return StoreError(
        f"the disk with {folder} is full ({free_bytes(folder) >> 10} KiB free)",
        "free some space there, or what deleted runs and cut off loads hold: tracegraph db compact; "
        "or choose another folder with --workspace",
    )


def check_space(folder: Path) -> None:
    """Raise StoreError if the disk that holds a folder is full."""
    if is_full(folder):
        raise full(folder)
