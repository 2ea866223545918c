"""Indexes and constraints, derived from the schema."""

from tracegraph.store.schema import INDEXES, Index


def constraints() -> list[str]:
    """Cypher that creates each constraint of the schema unless it is there."""
    return [_statement(index) for index in INDEXES if index.unique]


def indexes() -> list[str]:
    """Cypher that creates each index of the schema that is no constraint, unless it is there."""
    return [_statement(index) for index in INDEXES if not index.unique]


def _statement(index: Index) -> str:
    name = "_".join(("tracegraph", index.label.lower(), *index.properties))
    properties = ", ".join(f"n.{name}" for name in index.properties)
    if index.unique:
        return (
            f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR (n:{index.label}) REQUIRE ({properties}) IS UNIQUE"
        )
    return f"CREATE INDEX {name} IF NOT EXISTS FOR (n:{index.label}) ON ({properties})"
