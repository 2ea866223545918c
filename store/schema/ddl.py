"""Indexes and constraints, derived from the schema."""

from tracegraph.store.schema.properties import Index, Need
from tracegraph.store.schema.schema import INDEXES


def statements() -> list[str]:
    """Return the Cypher that creates each constraint and index of the schema unless it exists."""
    return [_statement(index) for index in INDEXES]


def constraints() -> list[str]:
    """Return those of `statements` that have to run before the first node is stored."""
    return [_statement(index) for index in INDEXES if index.unique]


def indexes(*needed: Need) -> list[str]:
    """Return those of the other `statements` whose indexes are needed then."""
    return [_statement(index) for index in INDEXES if not index.unique and index.needed in needed]


def constraint_names() -> list[str]:
    """Return the names of the constraints, which are also those of their indexes."""
    return [_name(index) for index in INDEXES if index.unique]


def names() -> set[str]:
    """Return the names of all indexes and constraints of the schema."""
    return {_name(index) for index in INDEXES}


def names_needed(*needed: Need) -> set[str]:
    """Return the names of those that `indexes` creates."""
    return {_name(index) for index in INDEXES if not index.unique and index.needed in needed}


def match_nodes(label: str) -> str:
    """Return the Cypher that finds the nodes `n` of a label in the run `$run` by an index.

    The time for that does not depend on other runs. An index knows the nodes that have all of its
    properties, as every node has that ingest makes.
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
