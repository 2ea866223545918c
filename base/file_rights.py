"""Rights of files: a workspace is for its owner alone, whatever the rights of the folder around it."""

import os
from contextlib import suppress
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
"""Modes of folders and files that only their owner may use."""
_OTHERS = 0o077
"""The bits of a mode that give rights to the group and to others."""


def make_folder(path: Path) -> None:
    """Make a folder that nobody else may enter, and its parents, unless it exists."""
    path.mkdir(mode=FOLDER, parents=True, exist_ok=True)


def opener(path: str, flags: int) -> int:
    """Open a file for `open`, so that a new file is readable by its owner alone."""
    return os.open(path, flags, FILE)


def close_to_others(root: Path) -> None:
    """Take the rights of others from the entries of a workspace's folder.

    Entries of another user stay as they are. Nobody else reaches what lies deeper, behind a folder that is
    closed.
    """
    for entry in os.scandir(root):
        with suppress(OSError):  # gone meanwhile, another user's, or on a disk that nobody may write to
            if not entry.is_symlink() and entry.stat().st_mode & _OTHERS:
                os.chmod(entry.path, FOLDER if entry.is_dir() else FILE)
