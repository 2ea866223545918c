"""What belongs to a phase: what its threads do in it, and the GPU work that they launch there."""

import numpy as np

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.what_if.graph import ReplayGraph
from tracegraph.store.phases import PHASE_NAMES


def of_phase(graph: ReplayGraph, name: str) -> Flags:
    """The segments of all phases of a name, of its thread and of the one that ends it."""
    segments, phases = graph.segments, graph.phases
    chosen = np.zeros(len(segments), dtype=bool)
    for at in np.flatnonzero(phases.name == PHASE_NAMES.index(name)).tolist():
        for lane in {int(phases.lane[at]), int(phases.end_lane[at])}:
            first, until = np.searchsorted(segments.lane, [lane, lane + 1])
            begun = first + np.searchsorted(segments.start[first:until], [phases.start[at], phases.end[at]])
            chosen[begun[0] : begun[1]] = True
    return chosen | with_launched(graph, chosen & segments.on_thread)


def with_launched(graph: ReplayGraph, host: Flags) -> Flags:
    """The GPU work whose launching call chosen host segments are of."""
    segments = graph.segments
    chosen = np.zeros(len(graph.calls) + 1, dtype=bool)
    chosen[segments.event[host & (segments.event >= 0)]] = True
    on_gpu = ~segments.on_thread & (segments.event >= 0)
    call = np.where(on_gpu, np.append(graph.calls.call, -1)[segments.event], -1)
    return (call >= 0) & chosen[call]
