"""Values of a Cypher result, nodes and paths included, as plain data and as text."""

import json
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from neo4j.graph import Node, Path, Relationship


def plain(value: object) -> object:
    """`value` as what JSON can hold; a number that is none and a missing value are None.

    A node is {labels, properties}, a relationship {type, properties}, a path {nodes, relationships}; a date,
    a time or a point is its text.
    """
    simple = value.item() if isinstance(value, np.generic) else value
    if simple is None or simple is pd.NA:
        return None
    if isinstance(simple, float):
        return simple if math.isfinite(simple) else None
    return simple if isinstance(simple, (bool, int, str)) else _plain_nested(simple)


def _plain_nested(value: object) -> object:
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
    """`value` as one text: a node, relationship or path as in Cypher, other nested values as JSON."""
    match value:
        case str():
            return value
        case Node():
            return f"({_head(sorted(value.labels))}{_body(value)})"
        case Relationship():
            return f"[{_head([value.type])}{_body(value)}]"
        case Path():
            return _path_text(value)
    simple = plain(value)
    return "" if simple is None else simple if isinstance(simple, str) else _json(simple)


def _path_text(path: Path) -> str:
    parts = [as_text(path.start_node)]
    for relationship, before, after in zip(path.relationships, path.nodes[:-1], path.nodes[1:], strict=True):
        forward = relationship.start_node == before
        parts += ["-" if forward else "<-", as_text(relationship), "->" if forward else "-", as_text(after)]
    return "".join(parts)


def _head(names: Sequence[str]) -> str:
    return "".join(f":{name}" for name in names)


def _body(entity: Node | Relationship) -> str:
    items = ", ".join(f"{key}: {_json(plain(value))}" for key, value in sorted(entity.items()))
    return f" {{{items}}}" if items else ""


def _plain_items(items: Mapping[str, object] | Node | Relationship) -> dict[str, object]:
    return {str(key): plain(value) for key, value in sorted(items.items())}


def _plain_list(values: Sequence[object]) -> list[object]:
    return [plain(value) for value in values]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
