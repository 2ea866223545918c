"""Advisory file locks: shared and exclusive, released by the system when their process dies."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tracegraph.base import file_rights
from tracegraph.base.errors import StoreError


@contextmanager
def lock(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock on `path`, waiting for it; shared holders admit each other, an exclusive one nobody.

    Raises
    ------
    StoreError
        The lock file cannot be made.
    """
    with _open(path) as handle:
        fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Give True and hold the exclusive lock on `path`, or give False at once if somebody holds it."""
    with _open(path) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def waiting_lock(path: Path, say_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the exclusive lock on `path`; call `say_waiting` before waiting for somebody who holds it."""
    with _open(path) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say_waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def _open(path: Path) -> Iterator[int]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open(path, "a", opener=file_rights.opener)  # noqa: SIM115 (used below)
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror}",
            "choose a folder that you can write: --workspace for the runs, XDG_CACHE_HOME for Neo4j itself",
        ) from error
    with handle:
        yield handle.fileno()
