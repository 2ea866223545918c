"""Takes over what was edited in an exported graph."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tracegraph.workbench.graph.frames import EDGE
from tracegraph.workbench.graph.networks import Network, read_network

if TYPE_CHECKING:
    from tracegraph.workbench.graph.causal_graph import CausalGraph


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
