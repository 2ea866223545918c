"""Values of a Cypher result, nodes and paths included, as plain data and as text."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from tracegraph.queries.module import python_value

if TYPE_CHECKING:  # the driver is imported when it is used: a command may read traces before
    from neo4j.graph import Node, Path, Relationship

_TO_THE_MINUTE = len("2026-01-01T00:00")


def to_the_minute(moments: "pd.Series[str]") -> "pd.Series[str]":
    """Cut moments in the form of ISO 8601 as people read them in a list: to the minute, without the zone."""
    return moments.str.slice(0, _TO_THE_MINUTE).str.replace("T", " ")


def plain(value: object) -> object:
    """Turn `value` into what JSON can hold; a missing value and a number that is not finite become None.

    A node is {labels, properties}, a relationship {type, properties}, a path {nodes, relationships}; a date,
    a time or a point is its text.
    """
    simple = python_value(value)
    if simple is None or simple is pd.NA:
        return None
    if isinstance(simple, float):
        return simple if math.isfinite(simple) else None
    return simple if isinstance(simple, (bool, int, str)) else _plain_nested(simple)


def _plain_nested(value: object) -> object:
    from neo4j.graph import Node, Path, Relationship  # noqa: PLC0415

    match value:
        case Node():
            return {"labels": sorted(value.labels), "properties": _plain_items(value)}
        case Relationship():
            return {"type": value.type, "properties": _plain_items(value)}
        case Path():
            return {"nodes": _plain_list(value.nodes), "relationships": _plain_list(value.relationships)}
        case Mapping():
            return _plain_items(value)
        case list() | tuple():
            return _plain_list(value)
    return str(value)


def as_text(value: object) -> str:
    """Write `value` as text for people: a node or relationship as in Cypher, other nested values as JSON.

    The nodes and relationships of a path show their name only, so that it stays readable.
    """
    from neo4j.graph import Node, Path, Relationship  # noqa: PLC0415

    match value:
        case str():
            return value
        case Node():
            return f"({_labels(value)}{_properties(value)})"
        case Relationship():
            return f"[:{value.type}{_properties(value)}]"
        case Path():
            return _path_text(value)
    return as_data_text(value)


def as_data_text(value: object) -> str:
    """Write `value` as one text for machines: empty for None, a text unchanged, anything else as JSON."""
    simple = plain(value)
    return "" if simple is None else simple if isinstance(simple, str) else json.dumps(simple)


def _path_text(path: "Path") -> str:
    parts = [_step_text(path.start_node)]
    for hop, before, after in zip(path.relationships, path.nodes[:-1], path.nodes[1:], strict=True):
        arrow = ("-", "->") if hop.start_node == before else ("<-", "-")
        parts += [arrow[0], f"[:{hop.type}]", arrow[1], _step_text(after)]
    return "".join(parts)


def _step_text(node: "Node | None") -> str:
    if node is None:
        return "()"
    name = node.get("name")
    return (
        f"({_labels(node)})" if name is None else f"({_labels(node)} {json.dumps(name, ensure_ascii=False)})"
    )


def _labels(node: "Node") -> str:
    return "".join(f":{label}" for label in sorted(node.labels))


def _properties(entity: "Node | Relationship") -> str:
    items = (
        f"{key}: {json.dumps(plain(value), ensure_ascii=False)}" for key, value in sorted(entity.items())
    )
    text = ", ".join(items)
    return f" {{{text}}}" if text else ""


def _plain_items(items: "Mapping[str, object] | Node | Relationship") -> dict[str, object]:
    return {str(key): plain(value) for key, value in sorted(items.items())}


def _plain_list(values: Sequence[object]) -> list[object]:
    return [plain(value) for value in values]
