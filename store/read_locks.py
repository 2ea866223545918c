"""Turns of commands that read the stored runs, and of one that replaces a run when nobody reads."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tracegraph.base.locks import lock, try_lock
from tracegraph.base.progress import Progress
from tracegraph.store.workspace import Workspace

_POLL_S = 0.2
"""The pause between two looks at whether somebody reads."""
_PATIENCE_S = 600.0
"""The longest wait for readers: one who reads longer, as in a notebook, may be waiting to write."""


@contextmanager
def reading_runs(workspace: Workspace) -> Iterator[None]:
    """Keep other processes from replacing a run of the managed database while the block queries it."""
    with lock(workspace.read_lock, shared=True):
        workspace.readings += 1
        try:
            yield
        finally:
            workspace.readings -= 1


@contextmanager
def unread_runs(workspace: Workspace, progress: Progress) -> Iterator[None]:
    """Wait until no other process reads runs, and keep others from beginning to read in the block.

    Readings of this process do not count: it asked for the replacement. Nobody is waited for longer than ten
    minutes.
    """
    limit = time.monotonic() + _PATIENCE_S
    while workspace.readings == 0 and time.monotonic() < limit:
        with try_lock(workspace.read_lock) as unread:
            if unread:
                yield
                return
        progress("waiting until no other command reads the run that is replaced", 0, 0)
        time.sleep(_POLL_S)
    yield
