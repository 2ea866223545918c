"""Giving space back: the managed database is made anew from the kept runs, without what was deleted."""

from dataclasses import dataclass
from pathlib import Path

from tracegraph.base.disk import free_bytes, full, is_full
from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.rebuild import rebuild, restore
from tracegraph.store.managed.server import leftovers, served_database, server
from tracegraph.store.managed.server.failure_causes import explained
from tracegraph.store.session import kept_warm, open_database
from tracegraph.store.storing import turn_to_write
from tracegraph.store.workspace import Workspace

_NODES = "neostore.nodestore.db"
_PAGE_BYTES, _NODES_A_PAGE = 8192, 8192 // 15
"""Neo4j's own layout of node records: each takes 15 bytes, and none crosses from one page to the next."""
_LEAST_DEAD_BYTES = 32 << 20
"""A database with less dead space than this is not made anew after a deletion."""
_IMPORT_LOG_BYTES = 256 << 20
"""Space allowed for the log of an import, besides its files and the new store."""
_HINT = "nothing was changed; what you wrote yourself can be exported first"


@dataclass(frozen=True)
class Space:
    """The size of a database's files in bytes, and the share of its node records that are in use, 0..1."""

    total_bytes: int
    live_share: float

    @property
    def needed_bytes(self) -> int:
        """About what an import of the living part needs meanwhile: its files, the new store and the log."""
        return round(2 * self.live_share * self.total_bytes) + _IMPORT_LOG_BYTES

    @property
    def is_mostly_dead(self) -> bool:
        """Whether a new database is worth its time: without the dead it would be less than half as large."""
        dead_bytes = self.total_bytes * (1 - self.live_share)
        return self.live_share < 1 / 2 and dead_bytes >= _LEAST_DEAD_BYTES


def space_of(home: Path, database: Database) -> Space:
    """Measure what the database of a home takes."""
    nodes = int(database.read("RETURN COUNT { () } AS nodes")["nodes"][0])
    store = home / "data" / "databases" / served_database.current(home).database / _NODES
    records = store.stat().st_size // _PAGE_BYTES * _NODES_A_PAGE
    return Space(folder_bytes(home / "data"), min(1.0, nodes / max(1, records)))


def folder_bytes(folder: Path) -> int:
    """Sum the bytes that the files of a folder take on the disk."""
    return sum(file.lstat().st_blocks for file in folder.rglob("*")) * 512


@dataclass(frozen=True)
class Compacted:
    """The size of the database on the disk before and after, in bytes."""

    before_bytes: int
    after_bytes: int


def is_wasteful(workspace: Workspace, settings: ConnectionSettings, database: Database) -> bool:
    """Tell whether `compact` should follow a deletion: most is dead, there is room, nothing would be lost."""
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

    The old one serves until the new one is complete: an interrupt or a kill leaves it as it was. The call
    waits for commands that use it. If the disk is full, it first removes what a load that was cut off left
    behind.

    Raises
    ------
    StoreError
        The database holds something that is not in a kept run, or the disk is full.
    """
    data = workspace.neo4j_home / "data"
    with turn_to_write(workspace, progress), explained(workspace):
        before = folder_bytes(data)
        if workspace.has_database():
            with kept_warm(workspace):  # its end stops the server of the new database
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
    """Make the database anew if no server can start and nothing is lost but what cut off loads wrote."""
    known = served_database.current(workspace.neo4j_home)
    if known.changed or known.bookmark is not None:
        raise full(workspace.root)
    with rebuild.alone(workspace, progress):
        server.stop(workspace)
        server.end_strays(workspace.neo4j_home)
        restore.make_anew(workspace, progress)


def _nothing(_: Database) -> None:
    """Do nothing: all runs are kept already."""


def _drop(workspace: Workspace, progress: Progress) -> None:
    """Leave no database if no run is stored, as in a new workspace."""
    with rebuild.alone(workspace, progress):
        state = server.running(workspace)
        server.stop(workspace)
        leftovers.discard_home(workspace)
        if state is not None and state.keep:
            restore.start(workspace, progress, keep=True)
