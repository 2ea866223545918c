"""Opening the database for one command: an external server, or the workspace's own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tracegraph.base.errors import StoreError
from tracegraph.base.locks import lock, try_lock
from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection import Database, connect
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.load.indexes import await_indexes
from tracegraph.store.managed.rebuild import restore
from tracegraph.store.managed.server import leftovers, server
from tracegraph.store.managed.server.ahead import begin_ahead
from tracegraph.store.managed.server.failure_causes import explained
from tracegraph.store.managed.server.server import ServerState
from tracegraph.store.workspace import Workspace


@contextmanager
def open_database(
    workspace: Workspace, settings: ConnectionSettings, progress: Progress = silent
) -> Iterator[Database]:
    """Open the server that `settings.uri` names, or else the managed one, started if it does not run.

    The call waits for indexes that a managed server is building. At the end, when no other command uses the
    server, it stays for the workspace's `linger_s`, or until somebody stops it if `tracegraph db start`
    keeps it.

    Raises
    ------
    StoreError
        The server cannot be reached, installed or started.
    InputError
        The address is not one of a Neo4j server.
    """
    with open_at_once(workspace, settings, progress) as database:
        if settings.uri is None:
            lacking = await_indexes(database, progress)
            leftovers.begin_missing_indexes(workspace, database, lacking)
            if "path" in lacking:
                await_indexes(database, progress)
        yield database


@contextmanager
def open_at_once(
    workspace: Workspace, settings: ConnectionSettings, progress: Progress = silent
) -> Iterator[Database]:
    """Open the database as `open_database` does, but do not wait for indexes."""
    if settings.uri is not None:
        with connect(settings) as database:
            yield database
        return
    with _use_of_server(workspace, progress) as managed, connect(managed) as database:
        database.has_ended = _watched(workspace)
        leftovers.clear_half_stored(workspace, database, progress)
        yield database


def _watched(workspace: Workspace) -> Callable[[], bool]:
    """Make the function that tells whether the server that runs now has ended."""
    served = server.running(workspace)

    def has_ended() -> bool:
        now = server.running(workspace)
        return now is None or served is None or now.pid != served.pid

    return has_ended


@contextmanager
def begun_ahead(workspace: Workspace) -> Iterator[None]:
    """Have the managed server start while the block prepares the work for which it is opened soon after."""
    begin_ahead(workspace)
    try:
        yield
    except BaseException:
        _release_server(workspace, linger_s=workspace.linger_s, at_once=True)
        raise


@contextmanager
def _use_of_server(workspace: Workspace, progress: Progress) -> Iterator[ConnectionSettings]:
    with ExitStack() as use:
        try:
            state = _begin_use(workspace, use, progress)
            with explained(workspace, state):
                yield server.settings_of(workspace, state)
        except StoreError:
            use.close()
            _release_server(workspace, linger_s=0.0, at_once=True)  # whatever ails it: the next is sound
            raise
        except BaseException:
            use.close()
            # A user who interrupts a command waits for its end, not for the server's.
            _release_server(workspace, linger_s=workspace.linger_s, at_once=True)
            raise
        use.close()
        _release_server(workspace, linger_s=workspace.linger_s)


def _begin_use(workspace: Workspace, use: ExitStack, progress: Progress) -> ServerState:
    """Start the server or take the running one, and hold the lock on its use in `use`."""
    with lock(workspace.server_lock):
        # Taken before the start: a command that wants to stop the server takes the server lock first.
        use.enter_context(lock(workspace.use_lock, shared=True))
        with explained(workspace):
            state = restore.start(workspace, progress)
        if state.keep or state.linger_s == workspace.linger_s:
            return state
        # One that was begun ahead, for example, would outlive a command that is killed from now on.
        return server.linger(workspace, state, workspace.linger_s)


@contextmanager
def kept_warm(workspace: Workspace) -> Iterator[None]:
    """Keep the managed server running between its uses; the last holder stops it.

    Nobody needs to wait for the holder: it does not use the server itself, and the next use finds the server
    that runs then.
    """
    try:
        with lock(workspace.warm_lock, shared=True):
            yield
    finally:
        _release_server(workspace, linger_s=workspace.linger_s)


def _release_server(workspace: Workspace, *, linger_s: float, at_once: bool = False) -> None:
    """Let the managed server linger or stop it, unless it is kept, or somebody uses it or wants it warm."""
    with (
        lock(workspace.server_lock),
        try_lock(workspace.use_lock) as unused,
        try_lock(workspace.warm_lock) as unwanted,
    ):
        state = server.running(workspace)
        if state is None or state.keep or not (unused and unwanted):
            return
        if linger_s > 0.0:
            server.linger(workspace, state, linger_s)
        else:
            server.stop(workspace, at_once=at_once)


def start_server(workspace: Workspace, progress: Progress = silent) -> ServerState:
    """Start the managed server, or take the running one, and keep it when commands end.

    A server that another command started and uses does not serve Neo4j's Browser; it is kept as it is.
    """
    with lock(workspace.server_lock):
        with try_lock(workspace.use_lock) as unused:
            state = server.running(workspace)
            if unused and state is not None and not state.keep:
                server.stop(workspace)  # a command that was killed left it
        return restore.start(workspace, progress, keep=True)


def stop_server(workspace: Workspace) -> bool:
    """Stop the managed server and tell whether one ran.

    Raises
    ------
    StoreError
        Another command uses it.
    """
    with lock(workspace.server_lock), try_lock(workspace.use_lock) as unused:
        if not unused:
            raise StoreError("another command uses the managed server", "wait until it has ended")
        return server.stop(workspace)


def find_server(workspace: Workspace) -> ServerState | None:
    """Return the managed server if it runs."""
    return server.running(workspace)
