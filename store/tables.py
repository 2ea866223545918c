"""The graph of one run as columns: ingest makes it, and every loader takes it."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tracegraph.base.parallel import Later
from tracegraph.store.schema import properties, schema
from tracegraph.store.table_folder import TableFolder, select_known

_KINDS = ("nodes", "relationships", "rows")
_ARROW = {"INTEGER": pa.int64(), "FLOAT": pa.float64(), "STRING": pa.string(), "BOOLEAN": pa.bool_()}


@dataclass(frozen=True)
class GraphTables:
    """Nodes and relationships of one run, in memory or in a folder and read when asked for.

    Any column of texts may be a dictionary.

    Attributes
    ----------
    run
        The name of the run.
    nodes
        By label: `id` (int64, 0..N-1 over all node tables of the run), `labels` (dictionary of strings such
        as "Event;Kernel;Segment"), then properties in the types of the schema; a null means that the node
        lacks the property. An uncut leaf event is one row of `nodes["Event"]` with the label and the
        properties of a segment; `nodes["Segment"]` holds the segments that are not events.
    relationships
        By type: `start` and `end` (int64 node ids), then properties.
    rows
        By query: rows about the whole run of which there are too many to ask the database for; kept with the
        tables, but not part of the graph.
    late
        Properties of the Run node that are computed beside something else, for `completed`.
    """

    run: str
    nodes: MutableMapping[str, pa.Table]
    relationships: MutableMapping[str, pa.Table]
    rows: MutableMapping[str, pa.Table] = field(default_factory=dict)
    late: Later[Mapping[str, str]] | None = None

    def begin_late(self) -> None:
        """Begin to compute the late properties of the Run node, beside what the caller does."""
        if self.late is not None:
            self.late.begin()

    @contextmanager
    def written_beside(self) -> Iterator[None]:
        """Write tables that are set in the block beside what makes the next ones, where they go to files."""
        with ExitStack() as stack:
            for tables in (self.nodes, self.relationships, self.rows):
                if isinstance(tables, TableFolder):
                    stack.enter_context(tables.written_beside())
            yield

    def completed(self) -> "GraphTables":
        """Wait for the late properties of the Run node and return the graph with them."""
        if self.late is None:
            return self
        run = self.nodes["Run"]
        late = {name: pa.array([value], pa.string()) for name, value in self.late.result().items()}
        self.nodes["Run"] = pa.table({**{name: run[name] for name in run.column_names}, **late})
        return replace(self, late=None)

    def count_nodes(self) -> int:
        """Count the nodes in all tables."""
        return sum(map(self.count_nodes_of, self.nodes))

    def count_nodes_of(self, label: str) -> int:
        """Count the nodes in the table of a label."""
        return _count(self.nodes, label)

    def count_labels(self) -> dict[str, int]:
        """Count the nodes that carry each label."""
        counts: Counter[str] = Counter()
        for name in self.nodes:
            for entry in pc.value_counts(_read(self.nodes, name, ["labels"])["labels"]).to_pylist():
                for label in entry["values"].split(";"):
                    counts[label] += entry["counts"]
        return dict(sorted(counts.items()))

    def count_relationships(self) -> dict[str, int]:
        """Count the relationships of each type of the schema, including types without any."""
        known = self.relationships
        return {k.type: _count(known, k.type) if k.type in known else 0 for k in schema.RELATIONSHIPS}

    def read_nodes(self, label: str, columns: Sequence[str]) -> pa.Table:
        """Read those of the columns that the nodes of a label have; from a folder no others."""
        return _read(self.nodes, label, columns)

    def read_relationships(self, type_: str, columns: Sequence[str]) -> pa.Table:
        """Read those of the columns that the relationships of a type have; from a folder no others."""
        return _read(self.relationships, type_, columns)

    def with_nodes(self, label: str, table: pa.Table) -> "GraphTables":
        """Return the same graph with other nodes of one label."""
        nodes = self.nodes
        changed = nodes.changed(label, table) if isinstance(nodes, TableFolder) else {**nodes, label: table}
        return replace(self, nodes=changed)

    def save(self, folder: Path) -> None:
        """Write each table as a Parquet file into an existing `folder`, or link those of another folder."""
        kinds = dict(zip(_KINDS, (self.nodes, self.relationships, self.rows), strict=True))
        for kind, tables in kinds.items():
            if isinstance(tables, TableFolder):
                tables.link(folder)
            else:
                TableFolder(folder, kind).update(tables)
        index = {"run": self.run, **{kind: list(tables) for kind, tables in kinds.items()}}
        (folder / "graph.json").write_text(json.dumps(index))


def new_graph(run: str, folder: Path) -> GraphTables:
    """Make an empty graph whose tables go into an existing folder as soon as they are set."""
    nodes, relationships, rows = (TableFolder(folder, kind) for kind in _KINDS)
    return GraphTables(run, nodes, relationships, rows)


def load_graph(folder: Path) -> GraphTables:
    """Open the graph that `GraphTables.save` wrote; each table is read when it is asked for."""
    index = json.loads((folder / "graph.json").read_text())
    # A run that an earlier version kept has no rows.
    nodes, relationships, rows = (TableFolder(folder, kind, tuple(index.get(kind, ()))) for kind in _KINDS)
    return GraphTables(index["run"], nodes, relationships, rows)


def arrow_type(kind: properties.PropertyType) -> pa.DataType:
    """Return the Arrow type of a property."""
    return _ARROW[kind]


def _count(tables: Mapping[str, pa.Table], name: str) -> int:
    return tables.count(name) if isinstance(tables, TableFolder) else tables[name].num_rows


def _read(tables: Mapping[str, pa.Table], name: str, columns: Sequence[str]) -> pa.Table:
    if isinstance(tables, TableFolder):
        return tables.read(name, columns)
    return select_known(tables[name], columns)
