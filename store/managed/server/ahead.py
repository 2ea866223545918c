"""The managed server, begun before it is needed: Java starts while Python does something else."""

from contextlib import suppress

from tracegraph.base.disk import is_full
from tracegraph.base.errors import StoreError
from tracegraph.base.locks import lock
from tracegraph.store.managed.server import server
from tracegraph.store.workspace import Workspace

AHEAD_S = 60.0
"""How many seconds a server that was begun ahead waits for its first use."""


def begin_ahead(workspace: Workspace) -> None:
    """Begin the server unless it runs; if it cannot start, whoever opens it says why."""
    if not is_full(workspace.root):
        with lock(workspace.server_lock), suppress(OSError, StoreError):
            server.begin(workspace, max(workspace.linger_s, AHEAD_S))
