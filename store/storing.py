"""Storing and removing a run: in the database and among the kept tables, whole or not at all."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext

from tracegraph.base.errors import InputError
from tracegraph.base.locks import lock, try_lock, waiting_lock
from tracegraph.base.malloc_settings import give_back_memory
from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.load.delete_run import delete_half_loaded, delete_run
from tracegraph.store.load.indexes import (
    await_indexes,
    begin_schema,
    finish_schema,
    has_indexes,
    plan_anew,
)
from tracegraph.store.load.load_run import as_loading, contents, has_runs, load_first, load_hidden, make_ready
from tracegraph.store.managed.rebuild import rebuild
from tracegraph.store.managed.rebuild.estimate import Load, cheaper_first, size_of
from tracegraph.store.managed.rebuild.offline_import import build_home
from tracegraph.store.managed.server import served_database, server
from tracegraph.store.managed.server.failure_causes import explained
from tracegraph.store.managed.server.leftovers import build_missing_indexes
from tracegraph.store.read_locks import reading_runs, unread_runs
from tracegraph.store.run_in_doubt import changing, settle
from tracegraph.store.same_run import JOB, is_newest, is_stored, with_job_kept
from tracegraph.store.schema import node_labels
from tracegraph.store.session import open_at_once, open_database
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace

_MANAGED = ConnectionSettings()
_Manifest = Mapping[str, object]


@contextmanager
def store_and_open(
    workspace: Workspace,
    settings: ConnectionSettings,
    tables: GraphTables,
    manifest: _Manifest,
    progress: Progress = silent,
    load: Load | None = None,
) -> Iterator[Database]:
    """Store a run in database and workspace, replacing one of the same name, and open the database.

    First the database gets the run, hidden, then the workspace keeps the tables, then the run turns visible.
    A kill at any point leaves at worst a hidden run or a database that nobody serves; the next call removes
    it.

    A run that is stored already and is the same is taken as it is, but for what is newly said of its job,
    unless `load` says how to store it. What was said of the job stays if nothing is said now. A run that
    differs is replaced as soon as nobody reads runs any more.

    The indexes of a new database may still be in the making when it opens: call `await_indexes` before a
    query that needs them. Those that a first screen does without are built at the end of the block at the
    latest, which waits for all.

    Parameters
    ----------
    load
        Forces the way into the managed database; None takes the one estimated to be faster.

    Raises
    ------
    InputError
        A run of this name holds other files, or `load` is bulk for an external server.
    StoreError
        The workspace or the database cannot be used.
    """
    if settings.uri is not None and load == "bulk":
        raise InputError("--load bulk needs the managed server", "leave --load or --uri out")
    give_back_memory()  # what the graph was made from
    with ExitStack() as stack:
        with turn_to_write(workspace, progress), explained(workspace):
            _refuse_other_content(tables.run, _contents(workspace.manifest(tables.run) or {}), manifest)
            tables, manifest = with_job_kept(workspace, tables, manifest)
            if settings.uri is not None:
                tables.begin_late()
                database = stack.enter_context(open_database(workspace, settings))
                _refuse_other_content(tables.run, contents(database, tables.run), manifest)
                load_hidden(database, tables, progress)
                _keep(workspace, database, tables, manifest)
            elif _is_imported(workspace, tables, load) and _import_offline(workspace, tables, progress):
                database = stack.enter_context(_open_import(workspace, tables, manifest, progress))
            else:
                database = stack.enter_context(_add(workspace, tables, manifest, progress, load))
            if settings.uri is None:  # before the next command's turn, which may replace the run
                stack.enter_context(reading_runs(workspace))
        yield database


def remove_run(workspace: Workspace, settings: ConnectionSettings, database: Database, name: str) -> None:
    """Delete a run from the database and its kept tables; the caller has the `turn_to_write`."""
    with ExitStack() as noted:
        if settings.uri is None:
            noted.enter_context(changing(workspace, name))
            noted.enter_context(served_database.own_writes(workspace.neo4j_home, database))
        delete_run(database, name)
        workspace.delete_run(name)


@contextmanager
def turn_to_write(workspace: Workspace, progress: Progress = silent) -> Iterator[None]:
    """Hold `workspace.ingest_lock`, waiting for it.

    It has to be taken before the database is opened: a rebuild holds it and waits until nobody uses the
    database.
    """

    def say_waiting() -> None:
        progress("waiting for another command that stores a run", 0, 0)

    with waiting_lock(workspace.ingest_lock, say_waiting):
        yield


def _is_imported(workspace: Workspace, tables: GraphTables, load: Load | None) -> bool:
    """Tell whether the run is the workspace's first and better imported than added."""
    return not workspace.has_database() and (load or cheaper_first(size_of(tables))) == "bulk"


def _import_offline(workspace: Workspace, tables: GraphTables, progress: Progress) -> bool:
    """Import the run if there is no database yet; return False if there is one."""
    if workspace.has_database():
        return False
    with lock(workspace.server_lock):
        if workspace.has_database() or server.running(workspace) is not None:
            return False
        build_home(workspace, [as_loading(tables)], progress)
    return True


@contextmanager
def _open_import(
    workspace: Workspace, tables: GraphTables, manifest: _Manifest, progress: Progress
) -> Iterator[Database]:
    """Open an imported database with the run visible, and wait for its indexes at the end."""
    with open_at_once(workspace, _MANAGED, progress) as database:
        settle(workspace, database)
        with served_database.own_writes(workspace.neo4j_home, database), changing(workspace, tables.run):
            # What one rank's first screen asks does without the others, which take half a minute of CPU
            # for ten million events; what ranks wait for is told by their segments.
            is_one_rank = tables.nodes[node_labels.TRACE.label].num_rows == 1
            begin_schema(database, progress, ("first",) if is_one_rank else ("first", "path"))
            _keep(workspace, database, tables, manifest)
        yield database
        _finish_schema(workspace, database, progress)


@contextmanager
def _add(
    workspace: Workspace, tables: GraphTables, manifest: _Manifest, progress: Progress, load: Load | None
) -> Iterator[Database]:
    """Add the run to the managed database, made if there is none, and open the one that serves afterwards."""
    tables.begin_late()
    # A rebuild restarts the server, which a command should not choose by itself while others use it.
    wanted = "bolt" if load is None and is_used_beside(workspace) else load
    with ExitStack() as stack:
        database = stack.enter_context(open_at_once(workspace, _MANAGED, progress))
        settle(workspace, database)
        if load is None and _take(workspace, database, tables, manifest):
            yield database
            return
        if (wanted or cheaper_first(size_of(tables))) == "bolt" and not has_runs(database):
            with served_database.own_writes(workspace.neo4j_home, database):
                is_new = not has_indexes(database)
                load_first(database, tables, progress)
                plan_anew(database, tables.count_nodes(), sampled=is_new)
                with changing(workspace, tables.run):
                    _keep(workspace, database, tables, manifest)
            yield database
            _finish_schema(workspace, database, progress)
            return
        await_indexes(database, progress)
        served_database.discard_unserved(workspace.neo4j_home)
        plan = rebuild.plan(workspace, database, tables, wanted)
        if plan.load == "bulk":
            _refuse_other_content(tables.run, contents(database, tables.run), manifest)
            name = rebuild.import_all(workspace, database, [as_loading(tables)], plan.others, progress)
            stack.close()  # the old server may end now
            with changing(workspace, tables.run):
                rebuild.switch(workspace, name, lambda new: _keep(workspace, new, tables, manifest), progress)
            database = stack.enter_context(open_at_once(workspace, _MANAGED, progress))
        else:
            with served_database.own_writes(workspace.neo4j_home, database):
                delete_half_loaded(database, progress)
                stored = contents(database, tables.run)
                _refuse_other_content(tables.run, stored, manifest)
                unread = unread_runs(workspace, progress) if stored else nullcontext()
                with unread, changing(workspace, tables.run):
                    load_hidden(database, tables, progress)
                    plan_anew(database, tables.count_nodes())
                    _keep(workspace, database, tables, manifest)
        yield database
        _finish_schema(workspace, database, progress)


def _finish_schema(workspace: Workspace, database: Database, progress: Progress) -> None:
    """Build the late indexes, too, and wait for all."""
    build_missing_indexes(workspace, database)
    finish_schema(database, progress)


def _take(workspace: Workspace, database: Database, tables: GraphTables, manifest: _Manifest) -> bool:
    """Make the run that is stored already the newest if it is the same; those who read it do not notice.

    What is newly said of its job is stored with it.

    Returns False if there is no such run.
    """
    if workspace.manifest(tables.run) is None:
        return False
    whole = tables.completed()
    if not is_stored(workspace, database, whole):
        return False
    is_said = (workspace.manifest(whole.run) or {}).get(JOB) == manifest.get(JOB)
    if not (is_said and is_newest(database, whole.run)):
        with served_database.own_writes(workspace.neo4j_home, database), changing(workspace, whole.run):
            _keep(workspace, database, whole, manifest)
    return True


def _keep(workspace: Workspace, database: Database, tables: GraphTables, manifest: _Manifest) -> None:
    """Keep a run that is hidden in the database, and make it visible."""
    # Late properties of the run may have become known while Neo4j took the rest.
    whole = tables.completed()
    workspace.save_run(whole, manifest)
    make_ready(database, whole)


def is_used_beside(workspace: Workspace) -> bool:
    """Tell whether any command uses the managed database."""
    with lock(workspace.server_lock), try_lock(workspace.use_lock) as unused:
        return not unused


def _refuse_other_content(name: str, stored: list[str], manifest: _Manifest) -> None:
    if stored and stored != _contents(manifest):
        other = "another scenario or file" if "change" in manifest else "another file"
        raise InputError(
            f"the run {name!r} holds {other}",
            f"choose another name, or remove it first: tracegraph runs delete {name}",
        )


def _contents(manifest: _Manifest) -> list[str]:
    """List what a run was made from according to its manifest, as `load.contents` does for a stored run.

    A file of several ranks counts once.
    """
    sources = manifest.get("sources")
    files = {str(source["sha256"]) for source in sources} if isinstance(sources, list) else set()
    return sorted([*files, *([str(manifest["change"])] if "change" in manifest else [])])
