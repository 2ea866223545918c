"""Adding a run by a new database made from the kept tables of all runs, beside the one that serves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tracegraph.store.connection import Database, connect
from tracegraph.store.errors import StoreError
from tracegraph.store.load import begin_schema, finish_schema
from tracegraph.store.locks import waiting_lock
from tracegraph.store.managed import generation, server
from tracegraph.store.managed.estimate import Load, Size, cheaper, size_of
from tracegraph.store.managed.offline_import import import_beside
from tracegraph.store.progress import Progress
from tracegraph.store.schema import SCHEMA_VERSION
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace

_VISIBLE = (
    "MATCH (r:Run {state: 'ready'}) WHERE r.name <> $run RETURN r.name AS name ORDER BY r.created, name"
)


@dataclass(frozen=True)
class Plan:
    """How a run is added; `others` are the visible runs that a rebuild keeps."""

    load: Load
    others: tuple[str, ...]


def plan(workspace: Workspace, database: Database, tables: GraphTables, load: Load | None) -> Plan:
    """Decide how to add a run to the managed database: as `load` says, else in the way estimated cheaper.

    Raises:
        StoreError: `load` is bulk, and a rebuild would lose something.
    """
    others = tuple(database.read(_VISIBLE, {"run": tables.run})["name"])
    if load == "bolt":
        return Plan("bolt", others)
    try:
        _check_nothing_lost(workspace, database, others)
    except StoreError:
        if load == "bulk":
            raise
        return Plan("bolt", others)
    kept = sum((size_of(workspace.load_run(name)) for name in others), Size())
    replaced = size_of(workspace.load_run(tables.run)) if workspace.manifest(tables.run) else Size()
    return Plan(load or cheaper(size_of(tables), replaced, kept), others)


def _check_nothing_lost(workspace: Workspace, database: Database, others: tuple[str, ...]) -> None:
    hint = "store the run with --load bolt"
    if generation.is_changed(workspace.neo4j_home, database):
        raise StoreError("the database holds changes of your own, which a rebuild would lose", hint)
    for name in others:
        manifest = workspace.manifest(name)
        if manifest is None:
            raise StoreError(f"the workspace does not keep the tables of the run {name!r}", hint)
        # An older run holds all that the database holds of it; a newer one may need what is not known here.
        version = manifest.get("schema_version", SCHEMA_VERSION)
        if not isinstance(version, int) or version > SCHEMA_VERSION:
            raise StoreError(f"the run {name!r} has schema version {version}, newer than here", hint)
        size_of(workspace.load_run(name))


def import_all(
    workspace: Workspace, database: Database, tables: GraphTables, others: tuple[str, ...], progress: Progress
) -> str:
    """Import `tables` and the kept runs `others` into a database that nobody serves yet; returns its name.

    Raises:
        StoreError: the import failed, or somebody changed the old database meanwhile.
    """
    runs = _all_runs(workspace, tables, others)
    name = import_beside(workspace, runs, progress)
    _check_nothing_lost(workspace, database, others)
    return name


def _all_runs(workspace: Workspace, tables: GraphTables, others: tuple[str, ...]) -> Iterator[GraphTables]:
    yield tables
    for name in others:
        yield workspace.load_run(name)


def switch(
    workspace: Workspace,
    name: str,
    tables: GraphTables,
    manifest: Mapping[str, object],
    progress: Progress,
) -> None:
    """Serve the database `name` from now on, once it has its indexes and the new run is kept.

    Until its last step the next start of the server serves the old database again, which is then removed.
    """
    home = workspace.neo4j_home

    def say_waiting() -> None:
        progress("waiting until no other command uses the database", 0, 0)

    # In this order everywhere; whoever waits for the server lock has given up its use before.
    with waiting_lock(workspace.server_lock, say_waiting), waiting_lock(workspace.use_lock, say_waiting):
        old = server.running(workspace)
        try:
            state = server.restart_on(workspace, name, progress)
            with connect(server.settings_of(workspace, state)) as database:
                begin_schema(database, progress)
                workspace.save_run(tables, manifest)
                finish_schema(database, progress)
                generation.commit(home, generation.Generation(name, database.bookmark()))
            generation.discard_unserved(home)
        except BaseException:
            server.put_back(workspace, keep=old is not None and old.keep)
            raise
