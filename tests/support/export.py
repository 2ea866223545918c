"""Everything a run holds, in one order: from the database, and from the tables that were loaded."""

import json
from collections.abc import Iterable, Mapping

from tracegraph.store.connection import Database
from tracegraph.store.tables import GraphTables

_NODES = "MATCH (n) WHERE n.run = $run OR (n:Run AND n.name = $run)"
Export = tuple[list[str], list[str]]


def from_database(database: Database, run: str) -> Export:
    """Nodes and relationships of a run with all labels and properties, sorted."""
    nodes = database.read(f"{_NODES} RETURN labels(n), properties(n)", {"run": run})
    edges = database.read(
        f"{_NODES} MATCH (n)-[r]->(m) "
        "RETURN labels(n), properties(n), type(r), properties(r), labels(m), properties(m)",
        {"run": run},
    )
    return (
        sorted(_node(*row) for row in nodes.itertuples(index=False)),
        sorted(
            _edge(_node(*row[:2]), row[2], row[3], _node(*row[4:])) for row in edges.itertuples(index=False)
        ),
    )


def from_tables(tables: GraphTables) -> Export:
    """The same of tables, as if every null were an absent property."""
    nodes: dict[object, str] = {}
    for table in tables.nodes.values():
        for row in table.to_pylist():
            key, labels = row.pop("id"), row.pop("labels")
            nodes[key] = _node(labels.split(";"), _present(row))
    edges = [
        _edge(nodes[start], kind, _present(row), nodes[end])
        for kind, table in tables.relationships.items()
        for row in table.to_pylist()
        for start, end in [(row.pop("start"), row.pop("end"))]
    ]
    return sorted(nodes.values()), sorted(edges)


def _present(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if value is not None}


def _node(labels: Iterable[str], properties: Mapping[str, object]) -> str:
    return json.dumps([sorted(labels), sorted(properties.items())])


def _edge(start: str, kind: str, properties: Mapping[str, object], end: str) -> str:
    return json.dumps([start, kind, sorted(properties.items()), end])
