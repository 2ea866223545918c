"""What lies behind a failure of the managed server: a full disk, or a server that has ended."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tracegraph.store.errors import StoreError
from tracegraph.store.failures import is_cut
from tracegraph.store.managed import server
from tracegraph.store.managed.server import ServerState
from tracegraph.store.workspace import Workspace

_LEAST_FREE_BYTES = 8 << 20
_ENDING_S = 2.0
_POLL_S = 0.05


@contextmanager
def explained(workspace: Workspace, state: ServerState | None = None) -> Iterator[None]:
    """Say of a StoreError in the block what caused it, where the disk or the server `state` shows that."""
    try:
        yield
    except StoreError as error:
        free = shutil.disk_usage(workspace.root).free
        if free < _LEAST_FREE_BYTES:
            raise StoreError(
                f"the disk with {workspace.root} is full ({free >> 10} KiB free)",
                "free some space there, or choose another folder with --workspace, then run it again",
            ) from error
        if state is not None and is_cut(error) and _has_ended(workspace, state):
            raise StoreError(
                f"Neo4j ended while this command used it (its log: {workspace.neo4j_home / 'logs'})",
                "run the command again: it starts anew, and what was stored before is there",
            ) from error
        raise


def _has_ended(workspace: Workspace, state: ServerState) -> bool:
    # A killed process closes its connections a moment before it is gone.
    limit = time.monotonic() + _ENDING_S
    while (running := server.running(workspace)) is not None and running.pid == state.pid:
        if time.monotonic() > limit:
            return False
        time.sleep(_POLL_S)
    return True
