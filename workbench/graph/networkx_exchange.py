"""Exports the graph to rustworkx or networkx, and takes over what was edited there.

Both libraries are an extra: `pip install 'tracegraph[graph]'`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tracegraph.base.errors import InputError, StoreError
from tracegraph.workbench.graph.frames import EDGE, NODE

if TYPE_CHECKING:
    from networkx import MultiDiGraph
    from rustworkx import PyDiGraph

    from tracegraph.workbench.graph.causal_graph import CausalGraph

_EXTRA = "pip install 'tracegraph[graph]'"
_ROWS = 100_000
"""How many rows are converted to Python objects at a time, which bounds the memory."""
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Network:
    """What a graph of either library holds: attributes of its nodes, ends and attributes of its edges."""

    nodes: Mapping[int, Values]
    edges: tuple[tuple[int, int, Values], ...]


def to_rustworkx(nodes: pd.DataFrame, edges: pd.DataFrame) -> "PyDiGraph[dict[str, Any], dict[str, Any]]":
    """Make a `PyDiGraph` whose nodes and edges are dictionaries of the columns, with their ids.

    Raises
    ------
    StoreError
        The library rustworkx is not installed.
    """
    graph = _library("rustworkx").PyDiGraph(multigraph=True)
    place = dict(zip(nodes.index.tolist(), graph.add_nodes_from(list(_rows(nodes))), strict=True))
    causes, effects = (edges[end].map(place).tolist() for end in ("cause", "effect"))
    graph.add_edges_from(list(zip(causes, effects, _rows(edges), strict=True)))
    return graph  # type: ignore[no-any-return]


def to_networkx(nodes: pd.DataFrame, edges: pd.DataFrame) -> "MultiDiGraph":
    """Make a `MultiDiGraph` whose nodes and edges have the columns as attributes; nodes and keys are ids.

    Raises
    ------
    StoreError
        The library networkx is not installed.
    """
    graph = _library("networkx").MultiDiGraph()
    graph.add_nodes_from(zip(nodes.index.tolist(), _rows(nodes), strict=True))
    ends = (edges["cause"].tolist(), edges["effect"].tolist(), edges.index.tolist())
    graph.add_edges_from(zip(*ends, _rows(edges), strict=True))
    return graph


def read_network(network: Any) -> Network:
    """Read what a graph of either library holds now.

    Raises
    ------
    InputError
        The object is not a directed graph of either library, or one of its nodes is not a segment of a run.
    """
    if hasattr(network, "weighted_edge_list"):
        of_place = dict(zip(network.node_indices(), network.nodes(), strict=True))
        ends = ((of_place[a], of_place[b], values) for a, b, values in network.weighted_edge_list())
        return _network(of_place.values(), ends)
    if hasattr(network, "edges") and hasattr(network, "is_directed") and network.is_directed():
        of_name = dict(network.nodes(data=True))
        ends = ((of_name[a], of_name[b], values) for a, b, values in network.edges(data=True))
        return _network(of_name.values(), ends)
    raise InputError(
        f"{type(network).__name__} is no directed graph of rustworkx or networkx",
        "take what to_rustworkx() or to_networkx() gave",
    )


def take_work(graph: "CausalGraph", network: Any) -> Network:
    """Set the work that differs, and return what was read.

    Raises
    ------
    InputError
        The object is not an exported graph, or its work is not possible.
    """
    found = read_network(network)
    ids = np.array(sorted(found.nodes), dtype=np.int64)
    before = graph.nodes["work_ns"].reindex(ids)
    work = [found.nodes[node].get("work_ns", own) for node, own in zip(ids.tolist(), before, strict=True)]
    changed = [at for at, (own, new) in enumerate(zip(before, work, strict=True)) if own != new]
    if changed:
        graph.set_work(ids[changed], [work[at] for at in changed])
    return found


def take_edges(graph: "CausalGraph", found: Network) -> None:
    """Set the lags that differ, remove the edges that are gone, and add those without an id.

    Raises
    ------
    InputError
        An edge cannot be removed or added, or its lag is not possible.
    """
    edges = graph.edges
    inside = edges["cause"].isin(found.nodes) & edges["effect"].isin(found.nodes)
    known = {values[EDGE]: (cause, effect, values) for cause, effect, values in found.edges if EDGE in values}
    ends = zip(edges.index.tolist(), edges["cause"].tolist(), edges["effect"].tolist(), strict=True)
    same = {edge for edge, cause, effect in ends if known.get(edge, ())[:2] == (cause, effect)}
    own = edges["lag_ns"].to_dict()
    lags = {edge: known[edge][2].get("lag_ns", own[edge]) for edge in same}
    later = {edge: lag for edge, lag in lags.items() if lag != own[edge]}
    gone = [edge for edge in edges.index[inside].tolist() if edge not in same]
    if later:
        graph.set_lag(list(later), list(later.values()))
    if gone:
        graph.remove_edges(gone)
    for cause, effect, values in found.edges:
        if values.get(EDGE) not in same:
            graph.add_edges(cause, effect, lag_ns=values.get("lag_ns", 0), mechanism=values.get("mechanism"))


def _network(nodes: Iterable[Any], edges: Iterable[tuple[Any, Any, Any]]) -> Network:
    known = {_id(values): values for values in nodes}
    listed = ((_id(cause), _id(effect), values or {}) for cause, effect, values in edges)
    return Network(known, tuple(listed))


def _id(values: Any) -> int:
    if not isinstance(values, Mapping) or not isinstance(values.get(NODE), int):
        raise InputError(
            f"a node of the graph is no segment of the run: {str(values)[:80]}",
            f"each keeps its `{NODE}`; what happens longer or later is work and lags, no new node",
        )
    return int(values[NODE])


def _rows(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield each row as a dictionary with its id; plain Python values, None for a missing one."""
    for first in range(0, len(frame), _ROWS):
        part = frame.iloc[first : first + _ROWS]
        columns = {str(part.index.name): part.index.tolist()}
        for name in part.columns:
            values = part[name].astype(object)
            columns[name] = values.where(values.notna(), None).tolist()
        for row in zip(*columns.values(), strict=True):
            yield dict(zip(columns, row, strict=True))


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise StoreError(f"{name} is not installed", _EXTRA) from error
