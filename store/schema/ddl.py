"""Indexes and constraints, derived from the schema."""

from tracegraph.store.schema.properties import Index
from tracegraph.store.schema.schema import INDEXES


def statements() -> list[str]:
    """Cypher that creates each constraint and index of the schema unless it is there."""
    return [_statement(index) for index in INDEXES]


def constraints() -> list[str]:
    """Return the part of `statements` that must be there before the first node."""
    return [_statement(index) for index in INDEXES if index.unique]


def indexes() -> list[str]:
    """Return the rest of `statements`."""
    return [_statement(index) for index in INDEXES if not index.unique]


def constraint_names() -> list[str]:
    """Names of the constraints, which their indexes have, too."""
    return [_name(index) for index in INDEXES if index.unique]


def names() -> set[str]:
    """Names of all indexes and constraints of the schema."""
    return {_name(index) for index in INDEXES}


def match_nodes(label: str) -> str:
    """Cypher that finds the nodes `n` of a label in the run `$run` by an index, whatever other runs hold.

    An index knows the nodes that have all of its properties, as every node has that ingest makes.
    """
    kept = (index for index in INDEXES if index.label == label and index.properties[0] == "run")
    _, *others = min((index.properties for index in kept), key=len)
    conditions = " AND ".join(["n.run = $run", *(f"n.{name} IS NOT NULL" for name in others)])
    return f"MATCH (n:{label}) WHERE {conditions}"


def _name(index: Index) -> str:
    return "_".join(("tracegraph", index.label.lower(), *index.properties))


def _statement(index: Index) -> str:
    name = _name(index)
    properties = ", ".join(f"n.{name}" for name in index.properties)
    if index.unique:
        return (
            f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR (n:{index.label}) REQUIRE ({properties}) IS UNIQUE"
        )
    return f"CREATE INDEX {name} IF NOT EXISTS FOR (n:{index.label}) ON ({properties})"
