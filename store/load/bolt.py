"""Loading a graph over Bolt: batches of columns as parameters, one transaction for each batch."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tracegraph.base.parallel import run_all
from tracegraph.base.progress import Progress
from tracegraph.store.connection import Database
from tracegraph.store.schema import schema
from tracegraph.store.tables import GraphTables
from tracegraph.vocabulary.categories import LABELS

_BATCH_ROWS = 4_000  # a transaction should fit into the server's heap for new objects
_WRITERS = 2
"""Batches that are written at once."""

_LABELS = {kind.label for kind in schema.NODES} | set(LABELS)
_TYPES = {kind.type for kind in schema.RELATIONSHIPS}
_PROPERTIES = {prop.name for node in schema.NODES for prop in node.properties} | {
    prop.name for kind in schema.RELATIONSHIPS for prop in kind.properties
}

Ids = npt.NDArray[np.int64]
_Relationships = dict[str, pa.Table]
_NO_SIDE = 2
"""The side of a node that has no time."""


@dataclass(frozen=True)
class Batch:
    """Rows for one query.

    `kind` is what they are: labels, or a relationship type. `same` holds the properties that all rows share.
    `keys` are the columns that are not properties, `properties` the others.
    """

    kind: str
    keys: pa.Table
    properties: pa.Table
    same: dict[str, object]

    def expressions(self) -> dict[str, str]:
        """Return the Cypher for each property of row `i` of `parameters`."""
        own = {field.name: _expression(field) for field in self.properties.schema}
        return {**{name: same(name) for name in self.same}, **own}

    def parameters(self) -> dict[str, object]:
        """Return the parameters of the query: `last`, `same`, `texts` and `columns`.

        `last` is the number of the last row; the others are by property. A column of texts holds positions
        in its `texts`: most texts repeat, and the driver and the server would otherwise spend most of their
        time on packing and unpacking each of them.
        """
        columns: dict[str, list[object]] = {}
        texts: dict[str, list[object]] = {}
        for field in self.properties.schema:
            column = self.properties[field.name].combine_chunks()
            if _is_text(field.type):
                coded = column.cast(pa.string()).dictionary_encode()
                texts[field.name] = coded.dictionary.to_pylist()
                column = coded.indices
            columns[field.name] = column.to_pylist()
        return {"last": self.keys.num_rows - 1, "same": self.same, "texts": texts, "columns": columns}


def same(name: str) -> str:
    """Return the Cypher for a property that all rows share."""
    return f"$same.{name}"


def batches(kind: str, table: pa.Table, keys: list[str]) -> Iterator[Batch]:
    """Cut a table into batches; a property that no row has is left out."""
    rows = table.unify_dictionaries()
    same: dict[str, object] = {}
    for name in [name for name in rows.column_names if name not in keys]:
        values = pc.unique(rows[name])
        if len(values) == 1:
            rows = rows.drop_columns([name])
            if values[0].is_valid:
                same[name] = values[0].as_py()
    for start in range(0, rows.num_rows, _BATCH_ROWS):
        part = rows.slice(start, _BATCH_ROWS)
        yield Batch(kind, part.select(keys), part.drop_columns(keys), same)


def _expression(field: pa.Field) -> str:
    row = f"$columns.{field.name}[i]"
    return f"$texts.{field.name}[{row}]" if _is_text(field.type) else row


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) or pa.types.is_string(kind))


def load_nodes(database: Database, tables: GraphTables, progress: Progress) -> Ids:
    """Create all nodes, those of `Run` first.

    Returns
    -------
    Ids
        The server's id of each node, by the node's id in the tables.
    """
    ids = np.full(tables.count_nodes(), -1, dtype=np.int64)
    names = sorted(tables.nodes, key=lambda name: name != "Run")
    done = 0
    for name in names:
        create = partial(_create_nodes, database)
        for batch_ids, server_ids in run_all(
            create, _node_batches(tables.nodes[name]), _WRITERS, database.give_up
        ):
            ids[batch_ids] = server_ids
            done += len(batch_ids)
            progress("storing nodes", done, len(ids))
    return ids


def load_relationships(database: Database, tables: GraphTables, ids: Ids, progress: Progress) -> None:
    """Create all relationships between the nodes that `load_nodes` made."""
    total, done = sum(tables.count_relationships().values()), 0
    early, late, rest = _sides(tables)
    create = partial(_create_relationships, database, ids)
    # The two sides share no node, so their writers never wait for each other's locks.
    for pair in (*zip_longest(_batches(early), _batches(late)), *((batch,) for batch in _batches(rest))):
        for rows in run_all(create, filter(None, pair), _WRITERS, database.give_up):
            done += rows
            progress("storing relationships", done, total)


def node_query(labels: str, properties: Mapping[str, str]) -> str:
    """Return the Cypher that creates nodes and returns pairs (row, server id).

    `properties` has an expression for each property.
    """
    _check(set(labels.split(";")), _LABELS, "label")
    return (
        f"UNWIND range(0, $last) AS i CREATE (n:{labels.replace(';', ':')} {_map(properties)}) "
        # One row of pairs: for thousands of rows the driver takes as long as the server for the nodes.
        "RETURN collect([i, id(n)]) AS ids"
    )


def relationship_query(kind: str, properties: Mapping[str, str]) -> str:
    """Return the Cypher that creates relationships of a type between the nodes in `$start` and `$end`.

    Both parameters are lists of the server's ids. `properties` has an expression for each property.
    """
    _check({kind}, _TYPES, "relationship type")
    return (
        "UNWIND range(0, $last) AS i "
        "MATCH (a) WHERE id(a) = $start[i] MATCH (b) WHERE id(b) = $end[i] "
        f"CREATE (a)-[:{kind} {_map(properties)}]->(b)"
    )


def _map(properties: Mapping[str, str]) -> str:
    _check(set(properties), _PROPERTIES, "property")
    if all(value == same(name) for name, value in properties.items()):
        return "$same"  # a fresh server takes a quarter of a second to plan a dozen names
    return "{" + ", ".join(f"{name}: {value}" for name, value in properties.items()) + "}"


def _check(names: set[str], known: set[str], what: str) -> None:
    # These names become query text, so only the schema's own may pass.
    if unknown := names - known:
        raise ValueError(f"not a {what} of the schema: {sorted(unknown)}")


def _node_batches(table: pa.Table) -> Iterator[Batch]:
    for labels in pc.unique(table["labels"]).to_pylist():
        rows = table.filter(pc.equal(table["labels"].cast(pa.string()), labels)).drop_columns(["labels"])
        yield from batches(labels, rows, ["id"])


def _create_nodes(database: Database, batch: Batch) -> tuple[Ids, Ids]:
    rows = database.write_again(node_query(batch.kind, batch.expressions()), batch.parameters())
    created = np.array(rows[0][0], dtype=np.int64)
    return batch.keys["id"].to_numpy()[created[:, 0]], created[:, 1]


def _sides(tables: GraphTables) -> tuple[_Relationships, _Relationships, _Relationships]:
    """Split the relationships: among the earlier half of the nodes, among the later half, and the others."""
    starts = {
        name: table["start_ns"] for name, table in tables.nodes.items() if "start_ns" in table.column_names
    }
    sides = np.full(tables.count_nodes(), _NO_SIDE, dtype=np.int8)
    if starts:
        middle = np.median(np.concatenate([column.to_numpy() for column in starts.values()]))
        for name, column in starts.items():
            sides[tables.nodes[name]["id"].to_numpy()] = column.to_numpy() >= middle
    parts: tuple[_Relationships, ...] = ({}, {}, {})
    for kind, table in tables.relationships.items():
        start, end = sides[table["start"].to_numpy()], sides[table["end"].to_numpy()]
        side = np.where(start == end, start, _NO_SIDE)
        for number, part in enumerate(parts):
            part[kind] = table.filter(pa.array(side == number))
    return parts[0], parts[1], parts[2]


def _batches(relationships: _Relationships) -> Iterator[Batch]:
    for kind, table in relationships.items():
        yield from batches(kind, table, ["start", "end"])


def _create_relationships(database: Database, ids: Ids, batch: Batch) -> int:
    ends = {name: ids[batch.keys[name].to_numpy()].tolist() for name in ("start", "end")}
    query = relationship_query(batch.kind, batch.expressions())
    database.write_again(query, {**batch.parameters(), **ends})
    return int(batch.keys.num_rows)
