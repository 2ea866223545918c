"""Pictures of parts of the graph: causes and effects of events, lanes of a window, a Cypher result."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.workbench.pictures.dot import PALE, dot_label, new_graph
from tracegraph.workbench.pictures.palette import (
    DEPENDENCY_COLOURS,
    LANE_COLOURS,
    category_colour,
    dependency_colour,
    tint,
)
from tracegraph.workbench.text.text import format_ns, format_share, plural

if TYPE_CHECKING:  # the driver is imported when it is used: a command may read traces before
    from neo4j.graph import Node, Relationship

_MOST_NODES = 300
"""How many nodes a picture may have; a larger one is refused."""
_MOST_EDGES = 600
"""How many edges a picture may have; a larger one is refused."""
_NAME_CELLS = 44
"""How many cells a name may take before it is shortened."""
_SHOWN = ("name", "category", "lane", "rank", "start_ns", "end_ns", "duration_ns", "kind", "number", "chain")
_MOST_PROPERTIES = 4
"""How many properties of a node its label shows."""


@dataclass(frozen=True)
class Entities:
    """The nodes and relationships of a Cypher result, each once, by element id."""

    nodes: "Mapping[str, Node]"
    relationships: "Mapping[str, Relationship]"


def causes_picture(title: str, edges: pd.DataFrame, lanes: pd.DataFrame, origin_ns: int) -> str:
    """Return the DOT text of a list of edges, causes above effects.

    `edges`: rows of `event_history` or `hotspot_neighbourhood`. Solid arrows explain the effect's start,
    dashed ones do not. Times count from `origin_ns`.
    """
    _check_size(len(set(edges["cause"]) | set(edges["effect"])), len(edges))
    categories = sorted(set(edges["cause_category"].dropna()) | set(edges["effect_category"].dropna()))
    graph = new_graph(title, categories)
    names = dict(zip(lanes["lane"], lanes["name"], strict=True))
    numbers: dict[str, str] = {}
    for row in edges.to_dict("records"):
        for side in ("cause", "effect"):
            if row[side] in numbers:
                continue
            numbers[row[side]] = f"node{len(numbers)}"
            category = row[f"{side}_category"] or ""
            start_ns, end_ns = row[f"{side}_start_ns"], row[f"{side}_end_ns"]
            size = f"{format_ns(end_ns - start_ns)} at {format_ns(start_ns - origin_ns)}"
            lane = dot_label(str(names.get(row[f"{side}_lane"], "")), _NAME_CELLS)
            graph.node(
                numbers[row[side]],
                f"{dot_label(row[f'{side}_name'] or category, _NAME_CELLS)}\\n{size}\\n{lane}",
                fillcolor=tint(category_colour(category)),
                color=category_colour(category),
            )
        colour = dependency_colour(row["dependency"])
        graph.edge(
            numbers[row["cause"]],
            numbers[row["effect"]],
            f"  {dot_label(row['mechanism'], _NAME_CELLS)}, {format_share(row['confidence'])}",
            color=colour,
            fontcolor=colour,
            style="solid" if row["binding"] else "dashed",
        )
    return str(graph.source)


def lanes_picture(title: str, edges: pd.DataFrame, lanes: pd.DataFrame) -> str:
    """Return the DOT text of what lanes cause on each other (`lane_dependencies`), one node for each lane."""
    used = lanes[lanes["lane"].isin(set(edges["cause_lane"]) | set(edges["effect_lane"]))]
    _check_size(len(used), len(edges))
    graph = new_graph(title, [])
    for row in used.to_dict("records"):
        colour = LANE_COLOURS.get(row["kind"], PALE)
        graph.node(
            f"lane{row['lane']}",
            dot_label(row["name"], _NAME_CELLS),
            fillcolor=tint(colour),
            color=colour,
        )
    for row in edges.to_dict("records"):
        colour = dependency_colour(row["dependency"])
        wait = f", {format_ns(row['gap_ns'])} between" if row["gap_ns"] else ""
        counts = f"{row['count']:,}, {row['binding']:,} binding{wait}"
        text = f"  {dot_label(row['mechanism'], _NAME_CELLS)}\\n  {counts}"
        style = {"color": colour, "fontcolor": colour, "style": "solid" if row["binding"] else "dashed"}
        graph.edge(f"lane{row['cause_lane']}", f"lane{row['effect_lane']}", text, **style)
    return str(graph.source)


def result_picture(title: str, frame: pd.DataFrame) -> str:
    """Return the DOT text of the nodes and relationships in the cells of a Cypher result.

    Raises
    ------
    InputError
        The result holds none, or too many to draw.
    """
    found = entities(frame)
    if not found.nodes:
        raise InputError(
            "the query returns no node, relationship or path",
            "return some: MATCH p = ()-[]->() RETURN p LIMIT 25",
        )
    _check_size(len(found.nodes), len(found.relationships))
    categories = {str(node["category"]) for node in found.nodes.values() if node.get("category")}
    graph = new_graph(title, sorted(categories))
    numbers = {key: f"node{place}" for place, key in enumerate(found.nodes)}
    for key, node in found.nodes.items():
        colour = category_colour(str(node["category"])) if node.get("category") else PALE
        graph.node(numbers[key], _node_label(node), fillcolor=tint(colour), color=colour)
    for relationship in found.relationships.values():
        colour = DEPENDENCY_COLOURS.get(relationship.type, PALE)
        ends = [numbers[end.element_id] for end in relationship.nodes if end is not None]
        style = {"color": colour, "fontcolor": colour}
        graph.edge(ends[0], ends[1], f"  {dot_label(relationship.type, _NAME_CELLS)}", **style)
    return str(graph.source)


def entities(frame: pd.DataFrame) -> Entities:
    """Return the nodes and relationships in the cells, those inside paths, lists and maps included."""
    from neo4j.graph import Node  # noqa: PLC0415

    nodes: dict[str, Node] = {}
    relationships: dict[str, Relationship] = {}
    for name in frame.columns:
        for value in _flat(frame[name]):
            if isinstance(value, Node):
                # The end of a relationship comes without properties; the node itself has them.
                if value.element_id not in nodes or len(value):
                    nodes[value.element_id] = value
            else:
                relationships[value.element_id] = value
                for end in value.nodes:
                    if end is not None:
                        nodes.setdefault(end.element_id, end)
    return Entities(nodes, relationships)


def _flat(values: Iterable[object]) -> "Iterator[Node | Relationship]":
    from neo4j.graph import Node, Path, Relationship  # noqa: PLC0415

    for value in values:
        match value:
            case Node() | Relationship():
                yield value
            case Path():
                yield from value.nodes
                yield from value.relationships
            case Mapping():
                yield from _flat(value.values())
            case list() | tuple():
                yield from _flat(value)


def _node_label(node: "Node") -> str:
    lines = [f":{':'.join(sorted(node.labels))}"] if node.labels else []
    for key in [key for key in _SHOWN if node.get(key) is not None][:_MOST_PROPERTIES]:
        value = node[key]
        lines.append(str(value) if key == "name" else f"{key} {value}")
    return "\\n".join(dot_label(line, _NAME_CELLS) for line in lines)


def _check_size(nodes: int, edges: int) -> None:
    if nodes > _MOST_NODES or edges > _MOST_EDGES:
        raise InputError(
            f"{plural(nodes, 'node')} and {plural(edges, 'relationship')} are too many for a picture",
            f"ask for at most {_MOST_NODES} nodes and {_MOST_EDGES} relationships",
        )
