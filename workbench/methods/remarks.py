"""Warns of what the server remarks about a query of the user's own, such as a label that is misspelt."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from tracegraph.base.suggest import did_you_mean
from tracegraph.store.connection import Database
from tracegraph.workbench.text.text import label

_MISSING = re.compile(r"\(the missing (label name|relationship type|property name) is: (.*)\)\s*$", re.DOTALL)
"""How the server ends a notification about a name that nothing stored has."""
_CELLS = 300
"""How many cells a remark may take before it is shortened."""


class _Kind(NamedTuple):
    """A kind of name: what to say of one that is missing, and the query that lists those there."""

    said: str
    listing: str
    column: str


_KINDS = {
    "label name": _Kind("no node has the label", "CALL db.labels()", "label"),
    "relationship type": _Kind(
        "no relationship has the type", "CALL db.relationshipTypes()", "relationshipType"
    ),
    "property name": _Kind("nothing has the property", "CALL db.propertyKeys()", "propertyKey"),
}
_OTHERWISE = "docs/schema.md lists what there is"


@contextmanager
def remarking(database: Database) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Yield what hears the remarks about a query; after it each becomes one UserWarning."""
    heard: list[Mapping[str, Any]] = []
    yield heard.append
    for told in dict.fromkeys(_told(database, one) for one in heard):
        warnings.warn(told, stacklevel=4)


def _told(database: Database, notification: Mapping[str, Any]) -> str:
    """Write a remark as one line; of a missing name with the known one that is spelt most like it."""
    description = " ".join(str(notification.get("description", "")).split())
    missing = _MISSING.search(description)
    if missing is None:
        return label(f"{notification.get('title')}: {description}", _CELLS)
    kind = _KINDS[missing[1]]
    known = database.read(kind.listing)[kind.column]
    return label(f"{kind.said} {missing[2]}; {did_you_mean(missing[2], known, _OTHERWISE)}", _CELLS)
