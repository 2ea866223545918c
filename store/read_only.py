"""What a user's own query may do in a session that only reads: an allow list, checked on its plan."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tracegraph.base.errors import InputError
from tracegraph.store.connection import Database, Parameters

PROCEDURES = frozenset(
    {
        *("db.awaitIndex", "db.awaitIndexes", "db.info", "db.labels", "db.ping", "db.propertyKeys"),
        *("db.relationshipTypes", "db.schema.nodeTypeProperties", "db.schema.relTypeProperties"),
        *("db.schema.visualization", "db.index.fulltext.listAvailableAnalyzers"),
        *("db.index.fulltext.queryNodes", "db.index.fulltext.queryRelationships"),
        *("db.index.vector.queryNodes", "db.index.vector.queryRelationships"),
        *("dbms.components", "dbms.info", "dbms.showCurrentUser"),
    }
)
"""Procedures that only look at the graph.

A session that reads can run other procedures, too, and the Community edition has no roles to forbid them.
"""
_SHOWN = frozenset({"ShowIndexes", "ShowConstraints", "ShowFunctions", "ShowProcedures", "ShowTransactions"})
_MAY_DO_MORE = re.compile(r"\b(?:CALL|SHOW|TERMINATE|PROFILE)\b|\\u", re.IGNORECASE)
"""Without one of these words, or an escaped letter that may hide one, a reading query only reads."""
_PROFILE = re.compile(r"((?:\s|//[^\n]*\n|/\*.*?\*/|CYPHER\b|[\w.]+\s*=\s*\w+)*)PROFILE\b", re.I | re.DOTALL)


def check_reads(database: Database, query: str, parameters: Parameters) -> None:
    """Refuse a query that stores nothing, but affects the server or other sessions, or shows settings.

    Raises
    ------
    InputError
        The query does so, or it is wrong.
    StoreError
        The server cannot be reached or failed.
    """
    if not _MAY_DO_MORE.search(query):
        return
    planned = _PROFILE.sub(r"\1", query, count=1) if _PROFILE.match(query) else query
    for what in _not_allowed(database.explain(planned, parameters)):
        raise InputError(
            f"{what} is more than reading the graph, and only that is allowed here",
            "run it with `tracegraph cypher --write` if it should",
        )


def _not_allowed(plan: Mapping[str, Any]) -> Iterator[str]:
    operator = str(plan.get("operatorType", "")).partition("@")[0]
    if operator == "ProcedureCall":
        name = str(plan["args"]["Details"]).partition("(")[0]
        if name not in PROCEDURES:
            yield f"the procedure {name}"
    elif operator.startswith("Terminate"):
        yield "TERMINATE"
    elif operator.startswith("Administration"):
        yield "a command of the server's administration"
    elif operator.startswith("Show") and operator not in _SHOWN:
        yield f"SHOW {operator.removeprefix('Show').upper()}"
    for child in plan.get("children", ()):
        yield from _not_allowed(child)
