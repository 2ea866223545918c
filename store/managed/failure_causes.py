"""What lies behind a failure of the managed server: a full disk, or a server that has ended."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tracegraph.store.disk import full, is_full
from tracegraph.store.errors import StoreError
from tracegraph.store.failures import is_cut
from tracegraph.store.managed import server
from tracegraph.store.managed.server import ServerState
from tracegraph.store.workspace import Workspace

_ENDING_S = 2.0
_POLL_S = 0.05


@contextmanager
def explained(workspace: Workspace, state: ServerState | None = None) -> Iterator[None]:
    """Say of a StoreError in the block what caused it, where the disk or the server `state` shows that."""
    try:
        yield
    except StoreError as error:
        if is_full(workspace.root):
            raise full(workspace.root) from error
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
