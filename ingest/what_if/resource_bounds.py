"""What bounds a run: its length if each resource alone takes no time, and what no schedule beats."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.segments import GAP, WAIT, WORK
from tracegraph.ingest.intervals import union_length
from tracegraph.ingest.what_if.changes.between_ranks import without_stragglers
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.changes.threads import host_waits, launched
from tracegraph.ingest.what_if.fixes.unsync import unsync
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.phase_work import of_phase
from tracegraph.ingest.what_if.graph.transfers import of_transfers
from tracegraph.ingest.what_if.places import main_place
from tracegraph.ingest.what_if.predictions.predict import Predictor
from tracegraph.vocabulary import bounds
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.gaps import (
    CPU_TURN,
    GAP_CODE,
    GPU_TURN,
    LAUNCH_LATENCY,
    UNTRACED_CPU,
    WAITING_FOR_GIL,
    WAITING_FOR_RANK,
    WAITING_FOR_THREAD,
)
from tracegraph.vocabulary.phases import DATA_LOADING, PHASE_NAMES

_CLEARLY, _LEAST = 1.5, 0.02
"""How many times the gain of the next resource a bottleneck gains, and the least share of the run. Chosen by
eye: a larger factor would say more often that no one thing bounds the run, a smaller one name a resource that
gains hardly more than the next; 2 % is twice the least that a fix gains."""

_PARTS = {bounds.RANKS: bounds.HOST}
"""Resources that are part of another one: if both gain about as much, the part bounds the run."""
_GAPS = {
    bounds.THREADS: (WAITING_FOR_GIL, WAITING_FOR_THREAD),
    bounds.RANKS: (WAITING_FOR_RANK,),
    bounds.TURNS: (GPU_TURN, CPU_TURN),
    bounds.UNRECORDED: (UNTRACED_CPU,),
}
"""The names of the gaps that are a resource's time."""


@dataclass(frozen=True)
class _Parts:
    """The segments that are the work of each resource; those of threads and GPUs count for one only."""

    loading: Flags
    launching: Flags
    transfers: Flags
    graph: ReplayGraph

    @property
    def host(self) -> Flags:
        """The rest of the threads' recorded work."""
        segments = self.graph.segments
        own: Flags = segments.on_thread & (segments.kind == WORK) & (segments.event >= 0)
        return own & ~self.loading & ~self.launching & ~self.transfers

    @property
    def computing(self) -> Flags:
        """The rest of the GPUs' work."""
        segments = self.graph.segments
        work: Flags = ~segments.on_thread & (segments.kind == WORK) & (segments.event >= 0)
        return work & ~self.transfers


def _parts(graph: ReplayGraph) -> _Parts:
    segments, calls = graph.segments, graph.calls
    loading = np.zeros(len(segments), dtype=bool)
    if (graph.phases.name == PHASE_NAMES.index(DATA_LOADING)).any():
        loading = of_phase(graph, DATA_LOADING) & segments.on_thread & (segments.kind == WORK)
    launches = np.zeros(len(calls) + 1, dtype=bool)
    for by_graphs in (False, True):
        launches[segments.event[launched(graph, by_graphs=by_graphs)[0]]] = True
    launches[-1] = False
    launches[:-1] &= calls.of_role(Role.CALL)
    launching = segments.on_thread & (segments.kind == WORK) & launches[segments.event] & ~loading
    transfers = of_transfers(graph) & (segments.kind == WORK) & ~loading
    return _Parts(loading, launching, transfers, graph)


def find_bounds(predictor: Predictor) -> dict[str, object]:
    """Find what gains most if it takes no time, and what no schedule of this work is shorter than.

    Gains are corrected for what recording cost, as gains of fixes are.

    Returns
    -------
    bounds
        base_ns; resources, the largest gain first: resource, gain_ns, length_ns, share (0..1 of the base);
        floors, the longest first: floor, name, length_ns; bottleneck: the resource that gains 1.5 times what
        the next does, `several` if none does, None if none gains 2 %; bottlenecks: their names.
    """
    parts, base = _parts(predictor.graph), predictor.base_ns
    gains = dict.fromkeys(bounds.RESOURCES, 0)
    for name, make in _CHANGES.items():
        change = make(parts)
        if change is not None:
            gains[name] = predictor.gain(change).gain_ns
    resources = [
        {"resource": name, "gain_ns": gain, "length_ns": base - gain, "share": gain / max(base, 1)}
        for name, gain in sorted(gains.items(), key=lambda one: -one[1])
    ]
    first = [name for name, gain in gains.items() if gain >= _LEAST * base]
    most = max(gains.values())
    several = sorted((name for name in first if gains[name] * _CLEARLY > most), key=lambda one: -gains[one])
    several = [name for name in several if not any(_PARTS.get(one) == name for one in several)]
    bottleneck = None if not several else several[0] if len(several) == 1 else bounds.SEVERAL
    return {
        "base_ns": base,
        "resources": resources,
        "floors": _floors(parts, predictor.usual_work),
        "bottleneck": bottleneck,
        "bottlenecks": several,
        "places": [
            {"resource": name, "place": place.name, "share": place.share}
            for name in several
            if (place := main_place(parts.graph, _time_of(name, parts, predictor))) is not None
        ],
    }


def _time_of(resource: str, parts: _Parts, predictor: Predictor) -> Flags:
    """Flag the segments that are a resource's time: work on the path, and waits wherever they are."""
    graph = parts.graph
    segments = graph.segments
    if resource == bounds.WAITS:
        waits = np.zeros(len(segments), dtype=bool)
        waits[graph.dependencies.effect[host_waits(graph)] - 1] = True
        lasting: Flags = waits & (segments.kind == WAIT)
        return lasting
    if resource in _GAPS:
        codes = [GAP_CODE[name] for name in _GAPS[resource]]
        found: Flags = (segments.kind != WORK) & np.isin(segments.gap_name, codes)
        return found
    work = {
        bounds.HOST: parts.host,
        bounds.GPU: parts.computing,
        bounds.TRANSFERS: parts.transfers,
        bounds.LOADING: parts.loading,
        bounds.LAUNCHING: parts.launching,
    }
    return work[resource] & predictor.unchanged().on_path


def _without(chosen: Flags) -> Change | None:
    return Change(np.where(chosen, 0.0, 1.0)) if chosen.any() else None


def _at_once(graph: ReplayGraph, *names: str) -> Change | None:
    """Make the change in which gaps of these names end at once, None if the run has none."""
    codes = [GAP_CODE[name] for name in names]
    segments, found = graph.segments, graph.dependencies
    waits = (segments.kind != WORK) & np.isin(segments.gap_name, codes)
    lags = found.binding & (found.gap > 0) & np.isin(graph.gap_name, codes)
    if not (waits.any() or lags.any()):
        return None
    return Change(np.ones(len(segments)), tuple(codes))


def _waits(parts: _Parts) -> Change | None:
    graph = parts.graph
    if not len(host_waits(graph)):
        return None
    everything = np.ones(len(graph.segments), dtype=bool)
    return Change(np.ones(len(graph.segments)), edit=unsync(graph, everything))


def _launching(parts: _Parts) -> Change | None:
    change = _without(parts.launching)
    return None if change is None else Change(change.factor, (GAP_CODE[LAUNCH_LATENCY],))


def _ranks(parts: _Parts) -> Change | None:
    graph = parts.graph
    if len(np.unique(graph.lanes.rank)) > 1:
        return Change(without_stragglers(graph))
    return _at_once(graph, *_GAPS[bounds.RANKS])


def _unrecorded(parts: _Parts) -> Change | None:
    segments = parts.graph.segments
    silent = segments.on_thread & (segments.kind == GAP) & (segments.gap_name == GAP_CODE[UNTRACED_CPU])
    return _without(silent)


_CHANGES: Mapping[str, Callable[[_Parts], Change | None]] = {
    bounds.HOST: lambda parts: _without(parts.host),
    bounds.GPU: lambda parts: _without(parts.computing),
    bounds.TRANSFERS: lambda parts: _without(parts.transfers),
    bounds.LOADING: lambda parts: _without(parts.loading),
    bounds.WAITS: _waits,
    bounds.LAUNCHING: _launching,
    bounds.THREADS: lambda parts: _at_once(parts.graph, *_GAPS[bounds.THREADS]),
    bounds.RANKS: _ranks,
    bounds.TURNS: lambda parts: _at_once(parts.graph, *_GAPS[bounds.TURNS]),
    bounds.UNRECORDED: _unrecorded,
}


def _floors(parts: _Parts, work: Ints) -> list[dict[str, object]]:
    """Find the busiest thread, device and link of a run: none of its schedules is shorter."""
    graph, segments = parts.graph, parts.graph.segments
    lanes, found = graph.lanes.frame, []
    own = graph.counted & segments.on_thread & (segments.kind == WORK)  # a gap may end at once
    busy = np.bincount(segments.lane, work * own, minlength=len(lanes)).astype(np.int64)
    if busy.any():
        at = int(busy.argmax())
        found.append({"floor": bounds.THREAD, "name": str(lanes["name"][at]), "length_ns": int(busy[at])})
    for floor, chosen in ((bounds.DEVICE, parts.computing), (bounds.LINK, parts.transfers)):
        streams = ~graph.lanes.is_thread
        names = "GPU " + lanes["device"].astype(str) + " of rank " + lanes["rank"].astype(str)
        lengths = {
            str(name): _busy(graph, work, chosen & (streams & (names == name).to_numpy())[segments.lane])
            for name in names[streams].unique()
        }
        if any(lengths.values()):
            name = max(lengths, key=lambda one: lengths[one])
            found.append({"floor": floor, "name": name, "length_ns": lengths[name]})
    return sorted(found, key=lambda one: -int(str(one["length_ns"])))


def _busy(graph: ReplayGraph, work: Ints, chosen: Flags) -> int:
    """Compute how long any of the chosen segments runs, ns."""
    start = graph.segments.start[chosen]
    return union_length(start, start + work[chosen])
