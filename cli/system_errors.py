"""Turns what the system refuses, such as memory or a long path, into one line that says what to do."""

import errno
import os
from pathlib import Path

from tracegraph.base.errors import InputError, StoreError, TracegraphError

_MEMORY_HINT = "close other programs, raise the limit (ulimit -v), or give fewer or shorter files"
_LOADING = ("failed to map segment", "cannot allocate memory")
"""What the dynamic linker says if there is too little memory for a library."""
_THREADS = ("start new thread", "launch worker thread")
"""What Python and Arrow say if the system refuses a thread."""
_FILES_HINT = "raise the limit, such as ulimit -n 4096"
_OF_LIMITS = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some space there",
    errno.EFBIG: "raise the limit (ulimit -f)",
    errno.EMFILE: _FILES_HINT,
    errno.ENFILE: _FILES_HINT,
    errno.ENOMEM: _MEMORY_HINT,
    errno.EAGAIN: "raise the limit on processes (ulimit -u), or close other programs",
    errno.EROFS: "choose another folder",
    errno.EIO: "check the disk",
}
"""Hints by error number for limits of the machine, which have nothing to do with the name of a file."""
_OF_NAMES = {
    errno.ENAMETOOLONG: "give a shorter path",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.ENOENT: "check the spelling of the path",
    errno.ENOTDIR: "check the spelling of the path",
    errno.EISDIR: "name a file",
    errno.ELOOP: "name what the link should lead to",
}
"""Hints by error number for paths that cannot be used; they apply only if the error names a file."""
_SHOWN = 100
"""How many characters of a path a message shows, so that one that is too long stays readable."""


def refusal_of_system(error: BaseException) -> TracegraphError | None:
    """Explain to the user what the system refused; None if something else went wrong."""
    if isinstance(error, OSError) and error.errno is not None:
        return _refused_call(error, error.errno)
    if isinstance(error, MemoryError):
        return StoreError("there is too little memory", _MEMORY_HINT)
    if isinstance(error, ImportError) and any(text in str(error).lower() for text in _LOADING):
        return StoreError(f"there is too little memory to load {error.name or 'a library'}", _MEMORY_HINT)
    if any(text in str(error) for text in _THREADS):
        return StoreError("the system starts no more threads", "raise the limits (ulimit -u, ulimit -v)")
    return None


def _refused_call(error: OSError, number: int) -> TracegraphError | None:
    said = os.strerror(number)
    what = "the system" if error.filename is None else _short(error.filename)
    if number in _OF_LIMITS:
        return StoreError(f"{what}: {said}", _OF_LIMITS[number])
    if number in _OF_NAMES and error.filename is not None:
        return InputError(f"{what}: {said}", _OF_NAMES[number])
    return None


def output_refused(problem: OSError) -> InputError:
    """Explain that standard output cannot be written."""
    said = problem.strerror or str(problem)
    return InputError(f"standard output cannot be written: {said}", "send it somewhere else, or use -o")


def _short(path: object) -> str:
    text = os.fsdecode(path) if isinstance(path, str | bytes | Path) else str(path)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
