"""How much of a run's path the files do not hold: no change of names reaches it."""

import numpy as np

from tracegraph.ingest.causal.graph.segments import GAP
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.gaps import GAP_CODE, NOT_IN_FILE


def unrecorded_ns(graph: ReplayGraph) -> int:
    """Compute the length of the path in gaps whose work no file holds, ns."""
    segments, found = graph.segments, graph.dependencies
    lost = [GAP_CODE[name] for name in NOT_IN_FILE]
    on_path = graph.replay.run(segments.work, graph.counted).on_path
    stretches = on_path & (segments.kind == GAP) & np.isin(segments.gap_name, lost)
    lags = found.binding & on_path[found.effect] & on_path[found.cause] & np.isin(graph.gap_name, lost)
    return int(segments.work[stretches].sum() + np.maximum(found.gap[lags], 0).sum())
