"""Estimates of how long the two ways of adding a run take, by counts and rates measured on two cores."""

from dataclasses import dataclass
from typing import Literal

from tracegraph.store.tables import GraphTables

Load = Literal["bulk", "bolt"]
LOADS: tuple[Load, ...] = ("bulk", "bolt")

# The rates over Bolt do not depend on what else is stored. With two cores to itself a load is half as fast
# again; beside other work it is less than half as fast, which slows an import less.
_BOLT_NODES_PER_S = 28_000
_BOLT_RELATIONSHIPS_PER_S = 48_000
_DELETED_NODES_PER_S = 20_000
_FIRST_S = 6.0  # the import's Java
_REBUILD_S = 15.0  # the import's Java, the end of one server and the start of the next
_IMPORTED_ROWS_PER_S = 300_000  # reading the kept tables, writing the files and importing them
_INDEXED_NODES_PER_S = 150_000  # building the indexes of a new database


@dataclass(frozen=True)
class Size:
    """Numbers of nodes and relationships."""

    nodes: int = 0
    relationships: int = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(self.nodes + other.nodes, self.relationships + other.relationships)


def size_of(tables: GraphTables) -> Size:
    """Count the nodes and relationships of a run."""
    return Size(tables.count_nodes(), sum(tables.count_relationships().values()))


def bolt_s(new: Size, replaced: Size) -> float:
    """Estimate the seconds to append a run over Bolt, after deleting the one that it replaces."""
    return (
        new.nodes / _BOLT_NODES_PER_S
        + new.relationships / _BOLT_RELATIONSHIPS_PER_S
        + replaced.nodes / _DELETED_NODES_PER_S
    )


def bulk_s(whole: Size) -> float:
    """Estimate the seconds to rebuild a database from tables of this size in all."""
    rows = whole.nodes + whole.relationships
    return _REBUILD_S + rows / _IMPORTED_ROWS_PER_S + whole.nodes / _INDEXED_NODES_PER_S


def cheaper_first(new: Size) -> Load:
    """Choose the way that is estimated to take less time for the first run of a database."""
    return "bulk" if bulk_s(new) - _REBUILD_S + _FIRST_S < bolt_s(new, Size()) else "bolt"


def cheaper(new: Size, replaced: Size, others: Size) -> Load:
    """Choose the way that is estimated to take less time, with the run replaced and the others stored."""
    return "bulk" if bulk_s(new + others) < bolt_s(new, replaced) else "bolt"
