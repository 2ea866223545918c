"""What belongs to a phase: what its threads do in it, hand over there, and launch on the GPU."""

import numpy as np

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.phases import PHASE_NAMES


def of_phase(graph: ReplayGraph, name: str) -> Flags:
    """Flag the segments of all phases of a name: of its thread, of the one that ends it, and handed over."""
    segments, phases = graph.segments, graph.phases
    chosen = np.zeros(len(segments), dtype=bool)
    for at in np.flatnonzero(phases.name == PHASE_NAMES.index(name)).tolist():
        for lane in {int(phases.lane[at]), int(phases.end_lane[at])}:
            first, until = np.searchsorted(segments.lane, [lane, lane + 1])
            begun = first + np.searchsorted(segments.start[first:until], [phases.start[at], phases.end[at]])
            chosen[begun[0] : begun[1]] = True
    chosen |= with_launched(graph, chosen & segments.on_thread)
    held: Flags = graph.handed_over.spread(np.where(chosen, 0, -1)) >= 0
    return held


def with_launched(graph: ReplayGraph, host: Flags) -> Flags:
    """Flag the GPU work that chosen host segments launched."""
    launching = graph.launching
    held: Flags = (launching >= 0) & host[launching]
    return held
