"""Loading a graph over Bolt: batches of columns, one transaction a batch."""

from collections.abc import Iterator
from functools import partial
from itertools import zip_longest

import neo4j
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tracegraph.store import schema
from tracegraph.store.connection import Database
from tracegraph.store.errors import StoreError
from tracegraph.store.failures import translated
from tracegraph.store.parallel import run_all
from tracegraph.store.progress import Progress
from tracegraph.store.tables import GraphTables

_BATCH_ROWS = 20_000
_WRITERS = 2

_LABELS = {kind.label for kind in schema.NODES} | {*schema.CATEGORY_LABELS.values(), schema.OTHER_LABEL}
_TYPES = {kind.type for kind in schema.RELATIONSHIPS}
_PROPERTIES = {prop.name for node in schema.NODES for prop in node.properties} | {
    prop.name for kind in schema.RELATIONSHIPS for prop in kind.properties
}

Ids = npt.NDArray[np.int64]
_Relationships = dict[str, pa.Table]
_NO_SIDE = 2


def load_nodes(database: Database, tables: GraphTables, progress: Progress) -> Ids:
    """Create all nodes, those of `Run` first; returns the server's id of each node id of the tables."""
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


def node_query(labels: str, properties: list[str]) -> str:
    """Cypher that creates nodes from `$columns`, lists by property, and returns pairs (row, server id)."""
    _check(set(labels.split(";")), _LABELS, "label")
    return (
        f"UNWIND range(0, $last) AS i CREATE (n:{labels.replace(';', ':')} {_map(properties)}) "
        # One row of pairs: the driver takes as long for 20,000 rows as the server for the nodes.
        "RETURN collect([i, id(n)]) AS ids"
    )


def relationship_query(kind: str, properties: list[str]) -> str:
    """Cypher that creates relationships of one type between the nodes with the ids in `$columns`."""
    _check({kind}, _TYPES, "relationship type")
    return (
        "UNWIND range(0, $last) AS i "
        "MATCH (a) WHERE id(a) = $columns.start[i] MATCH (b) WHERE id(b) = $columns.end[i] "
        f"CREATE (a)-[:{kind} {_map(properties)}]->(b)"
    )


def _map(properties: list[str]) -> str:
    _check(set(properties), _PROPERTIES, "property")
    return "{" + ", ".join(f"{name}: $columns.{name}[i]" for name in properties) + "}"


def _check(names: set[str], known: set[str], what: str) -> None:
    # These names become query text, so only the schema's own may pass.
    if unknown := names - known:
        raise ValueError(f"not a {what} of the schema: {sorted(unknown)}")


def _node_batches(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    for labels in pc.unique(table["labels"]).to_pylist():
        rows = table.filter(pc.equal(table["labels"].cast(pa.string()), labels)).drop_columns(["labels"])
        # A property that no node with these labels has need not travel.
        absent = [name for name in rows.column_names if rows[name].null_count == rows.num_rows]
        for batch in _slices(rows.drop_columns(absent)):
            yield labels, batch


def _create_nodes(database: Database, batch: tuple[str, pa.Table]) -> tuple[Ids, Ids]:
    labels, table = batch
    columns = _columns(table.drop_columns(["id"]))
    rows = _write(
        database, node_query(labels, list(columns)), {"last": table.num_rows - 1, "columns": columns}
    )
    created = np.array(rows[0][0], dtype=np.int64)
    return table["id"].to_numpy()[created[:, 0]], created[:, 1]


def _sides(tables: GraphTables) -> tuple[_Relationships, _Relationships, _Relationships]:
    """Relationships among the earlier half of the nodes, among the later half, and all others."""
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


def _batches(relationships: _Relationships) -> Iterator[tuple[str, pa.Table]]:
    for kind, table in relationships.items():
        for batch in _slices(table):
            yield kind, batch


def _create_relationships(database: Database, ids: Ids, batch: tuple[str, pa.Table]) -> int:
    kind, table = batch
    columns = _columns(table.drop_columns(["start", "end"]))
    query = relationship_query(kind, list(columns))
    columns["start"] = ids[table["start"].to_numpy()].tolist()
    columns["end"] = ids[table["end"].to_numpy()].tolist()
    _write(database, query, {"last": table.num_rows - 1, "columns": columns})
    return int(table.num_rows)


def _write(database: Database, query: str, parameters: dict[str, object]) -> list[list[object]]:
    def work(transaction: neo4j.ManagedTransaction) -> list[list[object]]:
        # The driver repeats what failed because the connection was cut, over a new one.
        if database.given_up:
            raise StoreError("the load was interrupted", "run the command again")
        return transaction.run(query, parameters).values()

    with translated(str(database.settings.uri)), database.session() as session:
        return session.execute_write(work)


def _slices(table: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, table.num_rows, _BATCH_ROWS):
        yield table.slice(start, _BATCH_ROWS)


def _columns(table: pa.Table) -> dict[str, list[object]]:
    return {name: table[name].to_pylist() for name in table.column_names}
