"""Giving space back: the managed database made anew from the kept runs, without what was deleted."""

from dataclasses import dataclass
from pathlib import Path

from tracegraph.base.disk import free_bytes, full, is_full
from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection import ConnectionSettings, Database
from tracegraph.store.managed.rebuild import rebuild, restore
from tracegraph.store.managed.server import generation, leftovers, server
from tracegraph.store.managed.server.failure_causes import explained
from tracegraph.store.session import kept_warm, open_database
from tracegraph.store.storing import turn_to_write
from tracegraph.store.workspace import Workspace

_NODES = "neostore.nodestore.db"
_PAGE_BYTES, _NODES_A_PAGE = 8192, 8192 // 15
"""Neo4j's own layout: records of 15 bytes, none across two pages."""
_LEAST_DEAD_BYTES = 32 << 20
_IMPORT_LOG_BYTES = 256 << 20
_HINT = "nothing was changed; what you wrote yourself can be exported first"


@dataclass(frozen=True)
class Space:
    """Bytes of a database's files, and how many of its node records are in use, 0..1."""

    total_bytes: int
    live_share: float

    @property
    def needed_bytes(self) -> int:
        """What a new database of what lives takes while it is imported, about: files, store, log."""
        return round(2 * self.live_share * self.total_bytes) + _IMPORT_LOG_BYTES

    @property
    def is_mostly_dead(self) -> bool:
        """Whether a new database of what lives is worth its time: it would be less than half as large."""
        dead_bytes = self.total_bytes * (1 - self.live_share)
        return self.live_share < 1 / 2 and dead_bytes >= _LEAST_DEAD_BYTES


def space_of(home: Path, database: Database) -> Space:
    """Return what the database of a home takes."""
    nodes = int(database.read("RETURN COUNT { () } AS nodes")["nodes"][0])
    store = home / "data" / "databases" / generation.current(home).database / _NODES
    records = store.stat().st_size // _PAGE_BYTES * _NODES_A_PAGE
    return Space(folder_bytes(home / "data"), min(1.0, nodes / max(1, records)))


def folder_bytes(folder: Path) -> int:
    """Bytes that the files of a folder take on the disk."""
    return sum(file.lstat().st_blocks for file in folder.rglob("*")) * 512


@dataclass(frozen=True)
class Compacted:
    """What the database took on the disk before and after, bytes."""

    before_bytes: int
    after_bytes: int


def is_wasteful(workspace: Workspace, settings: ConnectionSettings, database: Database) -> bool:
    """Whether `compact` should follow a deletion: most is dead, there is room, nothing would be lost."""
    if settings.uri is not None:
        return False
    space = space_of(workspace.neo4j_home, database)
    return (
        space.is_mostly_dead
        and space.needed_bytes < free_bytes(workspace.root)
        and rebuild.loses_nothing(workspace, database)
    )


def compact(workspace: Workspace, progress: Progress = silent) -> Compacted:
    """Make the managed database anew from the kept tables of its runs.

    The old one serves until the new one is complete: an interrupt or a kill leaves it as it was. Waits for
    commands that use it. On a full disk what a cut off load left makes room first.

    Raises
    ------
    StoreError
        Something in the database is in no kept run, or the disk is full.
    """
    data = workspace.neo4j_home / "data"
    with turn_to_write(workspace, progress), explained(workspace):
        before = folder_bytes(data)
        if workspace.has_database():
            with kept_warm(workspace):  # the end of which stops the server that a new database got
                (_make_room if is_full(workspace.root) else _make_anew)(workspace, progress)
        return Compacted(before, folder_bytes(data))


def _make_anew(workspace: Workspace, progress: Progress) -> None:
    with open_database(workspace, ConnectionSettings(), progress) as database:
        leftovers.settle_all(workspace, database, progress)
        runs = rebuild.visible_runs(database)
        rebuild.check_nothing_lost(workspace, database, runs, _HINT)
        name = rebuild.import_all(workspace, database, [], runs, progress, _HINT) if runs else None
    if name is None:
        _drop(workspace, progress)
    else:
        rebuild.switch(workspace, name, _nothing, progress)


def _make_room(workspace: Workspace, progress: Progress) -> None:
    """As `_make_anew` where no server can start, and only what cut off loads wrote is in no kept run."""
    known = generation.current(workspace.neo4j_home)
    if known.changed or known.bookmark is not None:
        raise full(workspace.root)
    with rebuild.alone(workspace, progress):
        server.stop(workspace)
        server.end_strays(workspace.neo4j_home)
        restore.make_anew(workspace, progress)


def _nothing(_: Database) -> None:
    """All runs are kept already."""


def _drop(workspace: Workspace, progress: Progress) -> None:
    """Leave no database where no run is stored, as in a new workspace."""
    with rebuild.alone(workspace, progress):
        state = server.running(workspace)
        server.stop(workspace)
        leftovers.discard_home(workspace)
        if state is not None and state.keep:
            restore.start(workspace, progress, keep=True)
