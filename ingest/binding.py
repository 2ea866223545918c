"""From edges between ports to the graph of segments: binding causes, margins, chains, slack and the path."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracegraph.ingest.dependencies.edges import CODE, Edges
from tracegraph.ingest.events import NONE, Flags, Ints, Lanes
from tracegraph.ingest.rows import select_rows
from tracegraph.ingest.segments import Keys, Segments, Window


@dataclass(frozen=True)
class Dependencies:
    """Dependencies between segments, sorted by (effect, cause, mechanism); `binding` explains the start.

    `gap`: effect.start - cause.completion; `lag`: what a replay uses. ns.
    """

    cause: Ints
    effect: Ints
    mechanism: Ints
    recorded: Flags
    confidence: npt.NDArray[np.float64]
    gap: Ints
    lag: Ints
    binding: Flags

    def __len__(self) -> int:
        return len(self.cause)


@dataclass(frozen=True)
class Binding:
    """For each segment: its binding edge (position, -1 for roots), the margin to the second-best cause in ns
    (`NONE` where there is one cause or none), and its chain."""

    edge: Ints
    margin: Ints
    chain: Ints


def _resolve(edges: Edges, segments: Segments, window: Window) -> tuple[Ints, Ints, Edges]:
    """Segments at both ends of every edge; edges that leave the window are dropped."""
    keys = Keys(window, int(segments.lane.max(initial=-1)) + 1)
    threads = np.flatnonzero(segments.on_thread)
    bounds = keys.of(segments.lane[threads], segments.start[threads])

    def at(lane: Ints, time: Ints) -> Ints:
        return np.searchsorted(bounds, keys.of(lane, np.clip(time, window.start, window.end)))

    on_gpu = edges.cause_event >= 0
    before = (
        threads[np.maximum(at(edges.cause_lane, edges.cause_time) - 1, 0)]
        if len(threads)
        else edges.cause_event
    )
    cause = np.where(on_gpu, segments.of_gpu_event[edges.cause_event], before)
    to_gpu = edges.effect_event >= 0
    position = np.minimum(at(edges.effect_lane, edges.effect_time), len(threads) - 1)
    after = threads[position] if len(threads) else edges.effect_event
    effect = np.where(to_gpu, segments.of_gpu_event[edges.effect_event], after)
    keep = (on_gpu | (edges.cause_time > window.start)) & (to_gpu | (edges.effect_time < window.end))
    keep &= (to_gpu | (edges.effect_time > window.start)) & (cause >= 0) & (effect >= 0)
    return cause[keep], effect[keep], select_rows(edges, keep)


def _inner_edges(segments: Segments, reached: Ints) -> tuple[Ints, Ints, Ints]:
    """Program order on threads and queue starts on streams: cause, effect, mechanism."""
    follows = np.flatnonzero((segments.lane[1:] == segments.lane[:-1]) & segments.on_thread[1:]) + 1
    root, orphan = _queue_starts(segments, reached)
    code = np.repeat([CODE["program order"], CODE["queue start"]], [len(follows), len(orphan)])
    return np.concatenate([follows - 1, root]), np.concatenate([follows, orphan]), code


def _queue_starts(segments: Segments, reached: Ints) -> tuple[Ints, Ints]:
    """GPU work that nothing else explains, bound to its stream's root at the window's start."""
    roots = np.flatnonzero(~segments.on_thread & (segments.event < 0))
    root_of = np.full(int(segments.lane.max(initial=-1)) + 1, -1, dtype=np.int64)
    root_of[segments.lane[roots]] = roots
    explained = np.zeros(len(segments), dtype=bool)
    explained[reached] = True
    orphans = np.flatnonzero(~segments.on_thread & (segments.event >= 0) & ~explained)
    orphans = orphans[root_of[segments.lane[orphans]] >= 0]
    return root_of[segments.lane[orphans]], orphans


def bind(segments: Segments, edges: Edges, window: Window) -> tuple[Dependencies, Binding]:
    """Choose for every segment the cause that explains its start: the latest arrival.

    Ties go by the order of the rules in `MECHANISMS`.
    """
    cause, effect, edges = _resolve(edges, segments, window)
    inner_cause, inner_effect, inner_code = _inner_edges(segments, effect)
    is_order = inner_code == CODE["program order"]
    arrival = np.concatenate([edges.arrival, segments.completion[inner_cause]])
    found = Dependencies(
        cause=np.concatenate([cause, inner_cause]),
        effect=np.concatenate([effect, inner_effect]),
        mechanism=np.concatenate([edges.mechanism, inner_code]),
        recorded=np.concatenate([edges.recorded, is_order]),
        confidence=np.concatenate([edges.confidence, np.where(is_order, 1.0, 0.5)]),
        gap=np.empty(0, dtype=np.int64),
        lag=np.empty(0, dtype=np.int64),
        binding=np.empty(0, dtype=bool),
    )
    return _choose(segments, found, arrival)


def _choose(segments: Segments, found: Dependencies, arrival: Ints) -> tuple[Dependencies, Binding]:
    order = np.lexsort((found.mechanism, found.cause, found.effect))
    first = np.ones(len(order), dtype=bool)
    for column in (found.cause, found.effect, found.mechanism):
        first[1:] &= column[order][1:] == column[order][:-1]
    first[1:] = ~first[1:]
    first[:1] = True
    order = order[first]
    cause, effect = found.cause[order], found.effect[order]
    gap = segments.start[effect] - segments.completion[cause]
    position = np.empty(len(segments), dtype=np.int64)
    position[_causal_order(segments)] = np.arange(len(segments))
    possible = (gap >= 0) & (position[cause] < position[effect])
    order, cause, effect, gap = order[possible], cause[possible], effect[possible], gap[possible]
    arrival = np.maximum(arrival[order], segments.completion[cause])
    mechanism = found.mechanism[order]
    best_first = np.lexsort((cause, mechanism, -arrival, effect))
    ranked = effect[best_first]
    is_best = np.append(True, ranked[1:] != ranked[:-1]) if len(ranked) else np.empty(0, dtype=bool)
    is_second = np.append(False, is_best[:-1]) & ~is_best
    binding = np.zeros(len(order), dtype=bool)
    binding[best_first[is_best]] = True
    edge = np.full(len(segments), -1, dtype=np.int64)
    edge[effect[binding]] = np.flatnonzero(binding)
    margin = np.full(len(segments), NONE, dtype=np.int64)
    second = best_first[is_second]
    margin[effect[second]] = arrival[edge[effect[second]]] - arrival[second]
    usual = np.clip(arrival - segments.completion[cause], 0, None)
    dependencies = Dependencies(
        cause=cause,
        effect=effect,
        mechanism=mechanism,
        recorded=found.recorded[order],
        confidence=found.confidence[order],
        gap=gap,
        lag=np.where(binding, gap, np.minimum(gap, usual)),
        binding=binding,
    )
    return dependencies, Binding(edge, margin, _chains(segments, dependencies, edge))


def _causal_order(segments: Segments) -> Ints:
    """The segments in an order that all dependencies follow; of those starting together, empty ones first."""
    return np.lexsort((segments.end, segments.start))


def _chains(segments: Segments, dependencies: Dependencies, edge: Ints) -> Ints:
    """Number the maximal runs in which each segment is bound by the one before it on its lane."""
    bound_to = np.where(edge >= 0, dependencies.cause[edge], -1) if len(dependencies) else edge
    in_order = np.zeros(len(segments), dtype=bool)
    in_order[1:] = (bound_to[1:] == np.arange(len(segments) - 1)) & (segments.lane[1:] == segments.lane[:-1])
    if len(dependencies):
        kind = dependencies.mechanism[edge]
        in_order &= np.isin(kind, (CODE["program order"], CODE["stream order"], CODE["queue start"]))
    return np.cumsum(~in_order) - 1


def find_sink(segments: Segments, window: Window, lanes: Lanes) -> int:
    """The segment that ends the window: on a lane that matters, work rather than a wait, the lowest lane."""
    ends = np.flatnonzero((segments.end == window.end) & (segments.end > segments.start))
    matters = lanes.matters[segments.lane[ends]]
    return int(ends[np.lexsort((segments.lane[ends], segments.kind[ends], ~matters))[0]])


def walk(segments: Segments, dependencies: Dependencies, binding: Binding, sink: int) -> Flags:
    """Whether each segment lies on the path from `sink` back over binding causes.

    A waiting cause is complete at its start, so the path passes it by.
    """
    on_path = np.zeros(len(segments), dtype=bool)
    cause = dependencies.cause.tolist()
    edge, waiting = binding.edge.tolist(), ((segments.work == 0) & (segments.end > segments.start)).tolist()
    at, within_chain = sink, True
    chain = binding.chain.tolist()
    while True:
        on_path[at] = within_chain or not waiting[at]
        if edge[at] < 0:
            return on_path
        before = cause[edge[at]]
        within_chain = chain[before] == chain[at]
        at = before


def find_slack(segments: Segments, dependencies: Dependencies, window: Window) -> Ints:
    """By how much each segment's completion may move before the window gets longer: a backward pass, ns.

    latest(s) = min over its effects of latest(e) - work(e) - lag(s, e), the window's end without effects.
    """
    by_cause = np.argsort(dependencies.cause, kind="stable")
    begin = np.searchsorted(dependencies.cause[by_cause], np.arange(len(segments) + 1)).tolist()
    effect, lag = dependencies.effect[by_cause].tolist(), dependencies.lag[by_cause].tolist()
    work = segments.work.tolist()
    latest = [window.end] * len(segments)
    for at in _causal_order(segments)[::-1].tolist():
        low, high = begin[at], begin[at + 1]
        if low < high:
            latest[at] = min(
                latest[e] - work[e] - g for e, g in zip(effect[low:high], lag[low:high], strict=True)
            )
    return np.array(latest, dtype=np.int64) - segments.completion
