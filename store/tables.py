"""The graph of one run as columns: what ingest makes and every loader takes."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tracegraph.store import schema

_PARAMETERS = b"parameters"
_ARROW = {"INTEGER": pa.int64(), "FLOAT": pa.float64(), "STRING": pa.string(), "BOOLEAN": pa.bool_()}


@dataclass(frozen=True)
class GraphTables:
    """Nodes and relationships of one run.

    `nodes[label]`: columns `id` (int64, 0..N-1 over all node tables of the run, in the order of the dict),
    `labels` (dictionary of strings such as "Event;Kernel;Segment"), then properties in the types of the
    schema; a null means that the node lacks the property. An uncut leaf event is one row of `nodes["Event"]`
    with the label and the properties of a segment; `nodes["Segment"]` holds the segments that are no event.
    `relationships[type]`: columns `start`, `end` (int64 node ids), then properties.
    `answers[query]`: the rows of a query for the parameters that `answer_to` noted; kept with the tables, but
    no part of the graph.
    Any column of texts may be a dictionary.
    """

    run: str
    nodes: Mapping[str, pa.Table]
    relationships: Mapping[str, pa.Table]
    answers: Mapping[str, pa.Table] = field(default_factory=dict)

    def count_nodes(self) -> int:
        """Number of nodes in all tables."""
        return sum(table.num_rows for table in self.nodes.values())

    def count_labels(self) -> dict[str, int]:
        """Number of nodes that carry each label."""
        counts: Counter[str] = Counter()
        for table in self.nodes.values():
            for entry in pc.value_counts(table["labels"]).to_pylist():
                for label in entry["values"].split(";"):
                    counts[label] += entry["counts"]
        return dict(sorted(counts.items()))

    def count_relationships(self) -> dict[str, int]:
        """Number of relationships of each type of the schema, those without any included."""
        return {
            kind.type: self.relationships[kind.type].num_rows if kind.type in self.relationships else 0
            for kind in schema.RELATIONSHIPS
        }

    def save(self, folder: Path) -> None:
        """Write one Parquet file a table into an existing `folder`."""
        for kind, tables in (("nodes", self.nodes), ("relationships", self.relationships)):
            for name, table in tables.items():
                pq.write_table(table, folder / f"{kind}.{name}.parquet", compression="zstd")
        for name, table in self.answers.items():
            pq.write_table(table, _answer_file(folder, name), compression="zstd")
        (folder / "graph.json").write_text(
            json.dumps(
                {"run": self.run, "nodes": list(self.nodes), "relationships": list(self.relationships)}
            )
        )


def load_graph(folder: Path) -> GraphTables:
    """Read the tables that `GraphTables.save` wrote."""
    index = json.loads((folder / "graph.json").read_text())
    return GraphTables(
        index["run"],
        {name: pq.read_table(folder / f"nodes.{name}.parquet") for name in index["nodes"]},
        {name: pq.read_table(folder / f"relationships.{name}.parquet") for name in index["relationships"]},
    )


def answer_to(parameters: Mapping[str, object], table: pa.Table) -> pa.Table:
    """The rows of a query, with the parameters that they are the answer for."""
    return table.replace_schema_metadata({_PARAMETERS: json.dumps(parameters, sort_keys=True)})


def load_answer(folder: Path, query: str, parameters: Mapping[str, object]) -> pa.Table | None:
    """The rows of a query that `GraphTables.save` wrote, if it did so for these parameters."""
    file = _answer_file(folder, query)
    if not file.exists():
        return None
    noted = (pq.read_schema(file).metadata or {}).get(_PARAMETERS, b"null")
    return pq.read_table(file) if json.loads(noted) == dict(parameters) else None


def _answer_file(folder: Path, query: str) -> Path:
    return folder / f"answer.{query}.parquet"


def count_rows(folder: Path) -> tuple[int, int]:
    """Numbers of nodes and of relationships in the files that `GraphTables.save` wrote; reads their heads."""
    index = json.loads((folder / "graph.json").read_text())
    nodes, relationships = (
        sum(pq.read_metadata(folder / f"{kind}.{name}.parquet").num_rows for name in index[kind])
        for kind in ("nodes", "relationships")
    )
    return nodes, relationships


def arrow_type(kind: schema.PropertyType) -> pa.DataType:
    """Arrow type of a property."""
    return _ARROW[kind]
