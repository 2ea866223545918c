"""What the files do not hold: how much of a path, and work that kept the GPU whatever the host did."""

from dataclasses import replace

import numpy as np

from tracegraph.ingest.causal.graph.segments import GAP
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.gaps import EARLIER_WORK, GAP_CODE, NOT_IN_FILE


def unrecorded_ns(graph: ReplayGraph) -> int:
    """Compute the length of the path in gaps whose work no file holds, ns."""
    segments, found = graph.segments, graph.dependencies
    lost = [GAP_CODE[name] for name in NOT_IN_FILE]
    on_path = graph.replay.run(segments.work, graph.counted).on_path
    stretches = on_path & (segments.kind == GAP) & np.isin(segments.gap_name, lost)
    lags = found.binding & on_path[found.effect] & on_path[found.cause] & np.isin(graph.gap_name, lost)
    return int(segments.work[stretches].sum() + np.maximum(found.gap[lags], 0).sum())


def held_by_earlier_work(graph: ReplayGraph) -> ReplayGraph:
    """Make the graph in which work from before the recording ends when it did; itself if there is none.

    What stood behind such work then starts no earlier, however early it is launched.
    """
    found = graph.dependencies
    behind = found.effect[found.binding & (found.gap > 0) & (graph.gap_name == GAP_CODE[EARLIER_WORK])]
    if not len(behind):
        return graph
    held = dict(zip(behind.tolist(), graph.segments.start[behind].tolist(), strict=True))
    return replace(graph, fixed={**graph.fixed, **held})
