"""What a managed database takes on the disk, and how much of that is dead: deleted, and not given back."""

from dataclasses import dataclass
from pathlib import Path

from tracegraph.store.connection import Database
from tracegraph.store.managed.server import generation

_NODES = "neostore.nodestore.db"
_PAGE_BYTES, _NODES_A_PAGE = 8192, 8192 // 15
"""Neo4j's own layout: records of 15 bytes, none across two pages."""
_LEAST_DEAD_BYTES = 32 << 20
_IMPORT_LOG_BYTES = 256 << 20


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
    """What the database of a home takes."""
    nodes = int(database.read("RETURN COUNT { () } AS nodes")["nodes"][0])
    store = home / "data" / "databases" / generation.current(home).database / _NODES
    records = store.stat().st_size // _PAGE_BYTES * _NODES_A_PAGE
    return Space(folder_bytes(home / "data"), min(1.0, nodes / max(1, records)))


def folder_bytes(folder: Path) -> int:
    """Bytes that the files of a folder take on the disk."""
    return sum(file.lstat().st_blocks for file in folder.rglob("*")) * 512
