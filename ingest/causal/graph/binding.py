"""From edges between ports to the graph of segments: binding causes, margins, chains and the path."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Ints, as_terms
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.dependencies import Candidates, Dependencies, choose
from tracegraph.ingest.causal.graph.segments import WAIT, Segments
from tracegraph.ingest.causal.rules.edges import Edges
from tracegraph.vocabulary.mechanisms import CODE, PROGRAM_ORDER, QUEUE_START, STREAM_ORDER


@dataclass(frozen=True)
class Binding:
    """What binds each segment.

    Attributes
    ----------
    edge
        The position of its binding dependency, -1 for roots.
    margin
        By how many ns the binding cause came after the second-best one; `NONE` with one cause or none.
    chain
        The number of its chain: see `number_chains`.
    """

    edge: Ints
    margin: Ints
    chain: Ints


def _resolve(edges: Edges, segments: Segments, window: Window) -> tuple[Ints, Ints, Edges]:
    """Find the segments at both ends of every edge; edges that leave the window are dropped."""
    keys = Keys(window.start, window.end, int(segments.lane.max(initial=-1)) + 1)
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
    cause = np.where(on_gpu, segments.gpu_last[edges.cause_event], before)
    to_gpu = edges.effect_event >= 0
    position = np.minimum(at(edges.effect_lane, edges.effect_time), len(threads) - 1)
    after = threads[position] if len(threads) else edges.effect_event
    effect = np.where(to_gpu, segments.gpu_first[edges.effect_event], after)
    keep = (on_gpu | (edges.cause_time > window.start)) & (to_gpu | (edges.effect_time < window.end))
    keep &= (to_gpu | (edges.effect_time > window.start)) & (cause >= 0) & (effect >= 0)
    return cause[keep], effect[keep], select_rows(edges, keep)


def _inner_edges(segments: Segments, reached: Ints) -> tuple[Ints, Ints, Ints]:
    """Make program order on threads and queue starts on streams: cause, effect, mechanism."""
    follows = np.flatnonzero((segments.lane[1:] == segments.lane[:-1]) & segments.on_thread[1:]) + 1
    root, orphan = _queue_starts(segments, reached)
    code = np.repeat([CODE[PROGRAM_ORDER], CODE[QUEUE_START]], [len(follows), len(orphan)])
    return np.concatenate([follows - 1, root]), np.concatenate([follows, orphan]), code


def _queue_starts(segments: Segments, reached: Ints) -> tuple[Ints, Ints]:
    """Bind GPU work that nothing else explains to its stream's root at the window's start."""
    roots = np.flatnonzero(~segments.on_thread & (segments.event < 0))
    root_of = np.full(int(segments.lane.max(initial=-1)) + 1, -1, dtype=np.int64)
    root_of[segments.lane[roots]] = roots
    explained = np.zeros(len(segments), dtype=bool)
    explained[reached] = True
    orphans = np.flatnonzero(~segments.on_thread & (segments.event >= 0) & ~explained)
    orphans = orphans[root_of[segments.lane[orphans]] >= 0]
    return root_of[segments.lane[orphans]], orphans


def bind(
    segments: Segments, edges: Edges, window: Window, joints: Candidates | None = None
) -> tuple[Dependencies, Binding]:
    """Choose for every segment the cause that explains its start.

    `dependencies.choose` decides among the edges, program order and queue starts (0.5 sure, since their cause
    is unknown), and `joints`, the candidates between ranks.

    Parameters
    ----------
    edges
        What the rules found, between ports: a lane and a time, or a GPU activity.
    joints
        The candidates between ranks, which are between segments already.
    """
    # Without a name of their own here, columns are dropped as soon as there are better ones.
    found, edge, margin = choose(segments, _candidates(segments, edges, window, joints))
    return found, Binding(edge, margin, number_chains(segments, found, edge))


def _candidates(segments: Segments, edges: Edges, window: Window, joints: Candidates | None) -> Candidates:
    cause, effect, edges = _resolve(edges, segments, window)
    reached = effect if joints is None else np.append(effect, joints.effect)
    inner_cause, inner_effect, inner_code = _inner_edges(segments, reached)
    is_order = inner_code == CODE[PROGRAM_ORDER]
    candidates = Candidates(
        cause=np.concatenate([cause, inner_cause]),
        effect=np.concatenate([effect, inner_effect]),
        mechanism=as_terms(np.concatenate([edges.mechanism, inner_code])),
        recorded=np.concatenate([edges.recorded, is_order]),
        confidence=np.concatenate([edges.confidence, np.where(is_order, 1.0, 0.5)]),
        arrival=np.concatenate([edges.arrival, segments.completion[inner_cause]]),
    )
    return candidates if joints is None else join_rows([candidates, joints])


def number_chains(segments: Segments, dependencies: Dependencies, edge: Ints) -> Ints:
    """Assign a number to each maximal run of segments that are bound by the one before on their lane."""
    bound_to = np.where(edge >= 0, dependencies.cause[edge], -1) if len(dependencies) else edge
    in_order = np.zeros(len(segments), dtype=bool)
    in_order[1:] = (bound_to[1:] == np.arange(len(segments) - 1)) & (segments.lane[1:] == segments.lane[:-1])
    if len(dependencies):
        kind = dependencies.mechanism[edge]
        in_order &= np.isin(kind, (CODE[PROGRAM_ORDER], CODE[STREAM_ORDER], CODE[QUEUE_START]))
    return np.cumsum(~in_order) - 1


def find_sink(segments: Segments, window: Window, lanes: Lanes) -> int:
    """Choose the segment that ends the window: on a lane that matters, work before waits, the lowest lane.

    Work of no length is chosen only before gaps: a change may have left nothing of what ended the window.
    """
    ends = np.flatnonzero(segments.end == window.end)
    matters, lane, works = lanes.matters[segments.lane[ends]], segments.lane[ends], segments.works[ends]
    lasts = segments.start[ends] < window.end
    rank = np.select([lasts & works, lasts & (segments.kind[ends] == WAIT), works], [0, 1, 2], 3)
    return int(ends[np.lexsort((lane, ~lasts, rank, ~matters))[0]])


def walk(segments: Segments, dependencies: Dependencies, binding: Binding, sink: int) -> Flags:
    """Tell which segments lie on the path from `sink` back over binding causes, hopping over chains.

    A waiting cause in another chain is complete at its start, so the path passes it by.

    Parameters
    ----------
    binding
        The edge that explains each start, and the chain of each segment.
    sink
        The segment that ends the window.

    Returns
    -------
    Flags
        One for each segment.
    """
    index, chain = np.arange(len(segments)), binding.chain
    cause = np.where(binding.edge >= 0, np.append(dependencies.cause, -1)[binding.edge], -1)
    follows = (cause == index - 1) & (chain == np.append(-1, chain[:-1]))
    first = np.maximum.accumulate(np.where(follows, 0, index))
    waiting = (segments.work == 0) & (segments.end > segments.start)
    marks = np.zeros(len(segments) + 1, dtype=np.int64)
    at, is_inside = sink, True
    while at >= 0:
        begin = int(first[at])
        marks[begin] += 1
        marks[at + int(is_inside or not waiting[at])] -= 1
        at = int(cause[begin])
        is_inside = bool(chain[at] == chain[begin])
    return np.cumsum(marks)[:-1] > 0
