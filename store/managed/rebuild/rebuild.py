"""A new database from the kept tables of all runs and one to add, made beside the one that serves."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

from tracegraph.base.errors import StoreError
from tracegraph.base.locks import waiting_lock
from tracegraph.base.progress import Progress
from tracegraph.store.connection import Database, connect
from tracegraph.store.load.indexes import begin_schema, finish_schema
from tracegraph.store.managed.rebuild.estimate import Load, Size, cheaper, size_of
from tracegraph.store.managed.rebuild.offline_import import import_beside
from tracegraph.store.managed.server import served_database, server
from tracegraph.store.schema.schema import SCHEMA_VERSION
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace

_VISIBLE = "MATCH (r:Run {state: 'ready'}) RETURN r.name AS name ORDER BY r.created, name"
_HINT = "store the run with --load bolt"


@dataclass(frozen=True)
class Plan:
    """How a run is added; `others` are the visible runs that a rebuild keeps."""

    load: Load
    others: tuple[str, ...]


def plan(workspace: Workspace, database: Database, tables: GraphTables, load: Load | None) -> Plan:
    """Decide how to add a run to the managed database: as `load` says, or in the way estimated cheaper.

    Raises
    ------
    StoreError
        `load` is bulk, and a rebuild would lose something.
    """
    others = tuple(name for name in visible_runs(database) if name != tables.run)
    if load == "bolt":
        return Plan("bolt", others)
    try:
        check_nothing_lost(workspace, database, others)
    except StoreError:
        if load == "bulk":
            raise
        return Plan("bolt", others)
    kept = sum((size_of(workspace.load_run(name)) for name in others), Size())
    replaced = size_of(workspace.load_run(tables.run)) if workspace.manifest(tables.run) else Size()
    return Plan(load or cheaper(size_of(tables), replaced, kept), others)


def visible_runs(database: Database) -> tuple[str, ...]:
    """List the names of the runs that are ready, oldest first."""
    return tuple(database.read(_VISIBLE)["name"])


def loses_nothing(workspace: Workspace, database: Database) -> bool:
    """Tell whether the kept tables hold all that the database holds."""
    try:
        check_nothing_lost(workspace, database, visible_runs(database))
    except StoreError:
        return False
    return True


def check_nothing_lost(
    workspace: Workspace, database: Database, others: tuple[str, ...], hint: str = _HINT
) -> None:
    """Check that the kept tables of these runs hold all that the database holds.

    Raises
    ------
    StoreError
        A rebuild would lose something.
    """
    if served_database.is_changed(workspace.neo4j_home, database):
        raise StoreError("the database holds changes of your own, which a rebuild would lose", hint)
    for name in others:
        manifest = workspace.manifest(name)
        if manifest is None:
            raise StoreError(f"the workspace does not keep the tables of the run {name!r}", hint)
        # The tables of an older run hold all of it; those of a newer one may need what this version lacks.
        version = manifest.get("schema_version", SCHEMA_VERSION)
        if not isinstance(version, int) or version > SCHEMA_VERSION:
            raise StoreError(f"the run {name!r} has schema version {version}, newer than here", hint)
        size_of(workspace.load_run(name))


def import_all(
    workspace: Workspace,
    database: Database,
    new: Sequence[GraphTables],
    others: tuple[str, ...],
    progress: Progress,
    hint: str = _HINT,
) -> str:
    """Import `new` and the kept runs `others` into a database that is not served yet, and return its name.

    Raises
    ------
    StoreError
        The import failed, or somebody changed the old database meanwhile.
    """
    name = import_beside(workspace, chain(new, _kept(workspace, others)), progress)
    check_nothing_lost(workspace, database, others, hint)
    return name


def _kept(workspace: Workspace, names: tuple[str, ...]) -> Iterator[GraphTables]:
    for name in names:
        yield workspace.load_run(name)


@contextmanager
def alone(workspace: Workspace, progress: Progress) -> Iterator[None]:
    """Keep every other command away from the server, waiting for those that use it."""

    def say_waiting() -> None:
        progress("waiting until no other command uses the database", 0, 0)

    # In this order everywhere: a command that waits for the server lock has given up its use before.
    with waiting_lock(workspace.server_lock, say_waiting), waiting_lock(workspace.use_lock, say_waiting):
        yield


def switch(
    workspace: Workspace,
    name: str,
    keep: Callable[[Database], object],
    progress: Progress,
) -> None:
    """Serve the database `name` from now on, once it has its indexes and `keep` has kept its new run.

    Until the change is committed, the next start of the server serves the old database again; afterwards the
    old one is removed.
    """
    home = workspace.neo4j_home
    with alone(workspace, progress):
        old = server.running(workspace)
        try:
            state = server.restart_on(workspace, name, progress)
            with connect(server.settings_of(workspace, state)) as database:
                begin_schema(database, progress)
                keep(database)
                finish_schema(database, progress)
                served_database.commit(home, served_database.Generation(name, database.bookmark()))
            served_database.discard_unserved(home)
        except BaseException:
            server.put_back(workspace, keep=old is not None and old.keep)
            raise
