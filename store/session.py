"""Opening the database for one command: an external server, or the workspace's own."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from tracegraph.store import server
from tracegraph.store.bulk import build_home
from tracegraph.store.connection import ConnectionSettings, Database, connect
from tracegraph.store.errors import InputError, StoreError
from tracegraph.store.load import (
    as_loading,
    contents,
    delete_half_loaded,
    ensure_schema,
    load_hidden,
    make_ready,
)
from tracegraph.store.locks import lock, try_lock
from tracegraph.store.progress import Progress, silent
from tracegraph.store.server import ServerState
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace


@contextmanager
def open_database(
    workspace: Workspace, settings: ConnectionSettings, progress: Progress = silent
) -> Iterator[Database]:
    """Open the server that `settings.uri` names, else the managed one, started when it does not run.

    A managed server that no other command uses is stopped at the end, unless `tracegraph db start` keeps it.

    Raises:
        StoreError: the server cannot be reached, installed or started.
        InputError: the address is none.
    """
    if settings.uri is not None:
        with connect(settings) as database:
            yield database
        return
    with _use_of_server(workspace, progress) as managed, connect(managed) as database:
        yield database


@contextmanager
def _use_of_server(workspace: Workspace, progress: Progress) -> Iterator[ConnectionSettings]:
    with ExitStack() as use:
        with lock(workspace.server_lock):
            # Taken before the start: whoever wants to stop the server takes the server lock first.
            use.enter_context(lock(workspace.use_lock, shared=True))
            state = server.start(workspace, progress)
        try:
            yield server.settings_of(workspace, state)
        finally:
            use.close()
            release_server(workspace)


@contextmanager
def store_and_open(
    workspace: Workspace,
    settings: ConnectionSettings,
    tables: GraphTables,
    manifest: Mapping[str, object],
    progress: Progress = silent,
) -> Iterator[Database]:
    """Store a run in the database and in the workspace, replacing one of the same name, and open it.

    Order: the database with the run hidden, the kept tables, then the run turns visible. A kill at any point
    leaves at worst a hidden run, which the next call removes.

    Raises:
        InputError: a run of this name holds other files.
        StoreError: the workspace or the database cannot be used.
    """
    with ExitStack() as stack:
        with lock(workspace.ingest_lock):
            kept = workspace.manifest(tables.run)
            _refuse_other_content(tables.run, _contents(kept or {}), manifest)
            imported = _import_offline(workspace, settings, tables, progress)
            database = stack.enter_context(open_database(workspace, settings, progress))
            if imported:
                progress("building indexes", 0, 0)
                ensure_schema(database)
            else:
                _refuse_other_content(tables.run, contents(database, tables.run), manifest)
                if settings.uri is None:
                    delete_half_loaded(database, progress)
                load_hidden(database, tables, progress)
            workspace.save_run(tables, manifest)
            make_ready(database, tables.run)
        yield database


def _import_offline(
    workspace: Workspace, settings: ConnectionSettings, tables: GraphTables, progress: Progress
) -> bool:
    """Import the run where there is no database yet; False where it must go over Bolt."""
    if settings.uri is not None or workspace.has_database():
        return False
    with lock(workspace.server_lock):
        if workspace.has_database() or server.running(workspace) is not None:
            return False
        build_home(workspace, as_loading(tables), progress)
    return True


def store_run(
    workspace: Workspace,
    settings: ConnectionSettings,
    tables: GraphTables,
    manifest: Mapping[str, object],
    progress: Progress = silent,
) -> None:
    """As `store_and_open`, for when nothing is asked from the database afterwards."""
    with store_and_open(workspace, settings, tables, manifest, progress):
        pass


def _refuse_other_content(name: str, stored: list[str], manifest: Mapping[str, object]) -> None:
    if stored and stored != _contents(manifest):
        raise InputError(
            f"the run {name!r} holds another file",
            f"choose another name with --run, or remove it first: tracegraph runs delete {name}",
        )


def _contents(manifest: Mapping[str, object]) -> list[str]:
    sources = manifest.get("sources")
    return sorted(str(source["sha256"]) for source in sources) if isinstance(sources, list) else []


def release_server(workspace: Workspace) -> None:
    """Stop the managed server unless it is kept or another command uses it."""
    with lock(workspace.server_lock), try_lock(workspace.use_lock) as unused:
        state = server.running(workspace)
        if unused and state is not None and not state.keep:
            server.stop(workspace)


def start_server(workspace: Workspace, progress: Progress = silent) -> ServerState:
    """Start the managed server, or take the running one, and keep it when commands end."""
    with lock(workspace.server_lock):
        return server.start(workspace, progress, keep=True)


def stop_server(workspace: Workspace) -> bool:
    """Stop the managed server; returns whether one ran.

    Raises:
        StoreError: another command uses it.
    """
    with lock(workspace.server_lock), try_lock(workspace.use_lock) as unused:
        if not unused:
            raise StoreError("another command uses the managed server", "wait until it has ended")
        return server.stop(workspace)


def find_server(workspace: Workspace) -> ServerState | None:
    """The managed server when it runs."""
    return server.running(workspace)
