"""What a workspace holds is for its owner alone, whatever the rights of the folder that it was put into."""

import os
from contextlib import suppress
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
_OTHERS = 0o077


def make_folder(path: Path) -> None:
    """Make a folder that nobody else may enter, and its parents, where it is not there."""
    path.mkdir(mode=FOLDER, parents=True, exist_ok=True)


def opener(path: str, flags: int) -> int:
    """For `open`: a new file is readable by its owner alone."""
    return os.open(path, flags, FILE)


def close_to_others(root: Path) -> None:
    """Take from others the rights to what lies in a workspace; what belongs to another user stays as it is.

    Behind a folder that is closed, nobody reaches what is in it.
    """
    for entry in os.scandir(root):
        with suppress(OSError):  # gone meanwhile, another user's, or on a disk that nobody may write to
            if not entry.is_symlink() and entry.stat().st_mode & _OTHERS:
                os.chmod(entry.path, FOLDER if entry.is_dir() else FILE)
