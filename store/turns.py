"""Who reads the stored runs, and who waits with replacing one until nobody does."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tracegraph.base.locks import lock, try_lock
from tracegraph.base.progress import Progress
from tracegraph.store.workspace import Workspace

_POLL_S = 0.2
_PATIENCE_S = 600.0
"""Whoever reads for longer, in a notebook say, may himself wait for the turn to write."""


@contextmanager
def reading_runs(workspace: Workspace) -> Iterator[None]:
    """Have no other process replace a run of the managed database, while the block asks about it."""
    with lock(workspace.read_lock, shared=True):
        workspace.readings += 1
        try:
            yield
        finally:
            workspace.readings -= 1


@contextmanager
def unread_runs(workspace: Workspace, progress: Progress) -> Iterator[None]:
    """Wait until no other process reads runs, and have none begin in the block.

    What this process reads is its own affair: it asked for the replacement. Nobody is waited for longer than
    ten minutes.
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
