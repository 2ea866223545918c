"""What belongs to a phase: what its threads do in it, and the GPU work that they launch there."""

import numpy as np

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.causal.segments import Segments
from tracegraph.ingest.what_if.graph import ReplayGraph
from tracegraph.store.mechanisms import AUTOGRAD_HAND_OFF, CODE, GRAPH_LAUNCH, HAND_OVER, LAUNCH
from tracegraph.store.phases import PHASE_NAMES


def of_phase(graph: ReplayGraph, name: str) -> Flags:
    """The segments of all phases of a name: of its thread, of the one that ends it, of the engine's in it."""
    segments, phases, found = graph.segments, graph.phases, graph.dependencies
    hand = np.isin(found.mechanism, (CODE[AUTOGRAD_HAND_OFF], CODE[HAND_OVER]))
    given, taken = found.cause[hand], found.effect[hand]
    chosen = np.zeros(len(segments), dtype=bool)
    for at in np.flatnonzero(phases.name == PHASE_NAMES.index(name)).tolist():
        lane, end_lane, start, end = (
            int(one[at]) for one in (phases.lane, phases.end_lane, phases.start, phases.end)
        )
        begun = (segments.start[taken] >= start) & (segments.start[taken] < end)
        helpers = segments.lane[taken[begun & (segments.lane[given] == lane)]]
        for own in {lane, end_lane, *helpers.tolist()}:
            first, until = np.searchsorted(segments.lane, [own, own + 1])
            inside = first + np.searchsorted(segments.start[first:until], [start, end])
            chosen[inside[0] : inside[1]] = True
    return chosen | with_launched(graph, chosen & segments.on_thread)


def with_launched(graph: ReplayGraph, host: Flags) -> Flags:
    """The GPU work that chosen host segments launch."""
    found, segments = graph.dependencies, graph.segments
    launches = np.isin(found.mechanism, (CODE[LAUNCH], CODE[GRAPH_LAUNCH])) & host[found.cause]
    return _whole(segments, found.effect[launches & ~segments.on_thread[found.effect]])


def _whole(segments: Segments, some: "np.typing.NDArray[np.int64]") -> Flags:
    """All segments of the GPU activities that some segments are of."""
    mine = np.zeros(int(segments.event.max(initial=-1)) + 2, dtype=bool)
    mine[segments.event[some]] = True
    chosen: Flags = mine[segments.event] & ~segments.on_thread & (segments.event >= 0)
    return chosen
