"""Causes of a failure of the managed server: a full disk, a low limit, or a server that has ended."""

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tracegraph.base.disk import full, is_full
from tracegraph.base.errors import StoreError
from tracegraph.store.failures import is_cut
from tracegraph.store.managed.java import java
from tracegraph.store.managed.server import server
from tracegraph.store.managed.server.server import ServerState
from tracegraph.store.workspace import Workspace

_ENDING_S = 2.0
"""How long a killed process may still exist after its connections were closed."""
_POLL_S = 0.05
"""The pause between two looks at whether it has ended."""
_FILES = 1024
"""The least limit of open files: Java has its 220 jars open, and a database some dozens of files."""
_MEMORY = 16 << 30
"""The least limit of addresses, in bytes.

Java needs them for its heap of up to a quarter of the memory, its archive and the stacks of its threads.
"""


@contextmanager
def explained(workspace: Workspace, state: ServerState | None = None) -> Iterator[None]:
    """Say what caused a StoreError in the block, if the disk, a limit or the server shows that."""
    try:
        yield
    except StoreError as error:
        if is_full(workspace.root):
            raise full(workspace.root) from error
        if isinstance(error, java.AdminError | server.EndedError) and (limit := _low_limit()) is not None:
            raise limit from error
        if state is not None and is_cut(error) and _has_ended(workspace, state):
            raise StoreError(
                f"Neo4j ended while this command used it (its log: {workspace.neo4j_home / 'logs'})",
                "run the command again: it starts anew, and what was stored before is there",
            ) from error
        raise


def _low_limit() -> StoreError | None:
    """Make the error that names a limit under which Neo4j hardly runs; Java raises the soft limits itself."""
    files, memory = (resource.getrlimit(kind)[1] for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS))
    if files != resource.RLIM_INFINITY and files < _FILES:
        return StoreError(
            f"Neo4j failed where only {files:,} files may be open at once",
            f"raise that: ulimit -n {4 * _FILES}",
        )
    if memory != resource.RLIM_INFINITY and memory < _MEMORY:
        return StoreError(
            f"Neo4j failed where a process may have only {memory >> 20:,} MiB of addresses",
            "raise that: ulimit -v unlimited",
        )
    return None


def _has_ended(workspace: Workspace, state: ServerState) -> bool:
    # A killed process closes its connections a moment before it is gone.
    limit = time.monotonic() + _ENDING_S
    while (running := server.running(workspace)) is not None and running.pid == state.pid:
        if time.monotonic() > limit:
            return False
        time.sleep(_POLL_S)
    return True
