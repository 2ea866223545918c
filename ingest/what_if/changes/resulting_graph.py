"""The causal graph that a change leaves: segments at their new times, and what explains each start."""

from dataclasses import dataclass, replace

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Ints, Terms, as_terms
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.binding import Binding, number_chains
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.segments import GAP, WAIT, WORK, Segments
from tracegraph.ingest.causal.rules.edges import GAP_OF_MECHANISM
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.gaps import GAP_CODE, UNTRACED_CPU
from tracegraph.vocabulary.mechanisms import CODE, GIL_HOLDER, MECHANISMS, PROGRAM_ORDER

_FOR_GPU = np.array([mechanism.kind == "SYNCHRONIZATION" for mechanism in MECHANISMS])


@dataclass(frozen=True)
class Waiting:
    """What a thread does after each of some segments: the event, kind and name of the gap."""

    event: Ints
    kind: Terms
    gap_name: Terms


def find_waits(graph: ReplayGraph, found: Dependencies, idle: Ints, edge: Ints) -> Waiting:
    """Find what a thread does after each of `idle`; it waits for `edge`, or for nothing if that is -1.

    If it waits for the GPU, the call that waits is the one that continues then; otherwise it is the event
    that is open all the time.
    """
    event, waits = graph.segments.event, edge >= 0
    mechanism = np.append(found.mechanism, CODE[PROGRAM_ORDER])[edge]
    after = event[np.minimum(idle + 1, len(event) - 1)]
    around = [_around(graph.calls.parent, *pair) for pair in zip(event[idle], after, strict=True)]
    inside = np.where(_FOR_GPU[mechanism], after, np.array(around, dtype=np.int64))
    return Waiting(
        event=np.where(waits, inside, -1),
        kind=as_terms(np.where(waits, WAIT, GAP)),
        gap_name=as_terms(np.where(waits, GAP_OF_MECHANISM[mechanism], GAP_CODE[UNTRACED_CPU])),
    )


def _around(parent: Ints, first: int, second: int) -> int:
    """Find the innermost event that contains both, or is one of them; -1 for none."""
    above = set()
    while first >= 0:
        above.add(first)
        first = int(parent[first])
    while second >= 0 and second not in above:
        second = int(parent[second])
    return second


def with_idle(
    old: Segments, inside: Flags, times: tuple[Ints, Ints, Ints], idle: Ints, until: Ints, waits: Waiting
) -> tuple[Segments, Ints, Ints]:
    """Put a segment that lasts `until` after each of `idle`, among the segments inside the window.

    Parameters
    ----------
    times
        Start, end and work of the old segments, ns.

    Returns
    -------
    segments, place, new
        The segments, and the position of each old one (-1: gone) and of each new one among them.
    """
    start, end, work = times
    kept = np.flatnonzero(inside)
    parts = Segments(
        lane=np.concatenate([old.lane[kept], old.lane[idle]]),
        start=np.concatenate([start[kept], end[idle]]),
        end=np.concatenate([end[kept], until]),
        event=np.concatenate([old.event[kept], waits.event]),
        kind=np.concatenate([old.kind[kept], waits.kind]),
        gap_name=np.concatenate([old.gap_name[kept], waits.gap_name]),
        work=np.concatenate([work[kept], np.where(waits.kind == WAIT, 0, until - end[idle])]),
        on_thread=np.concatenate([old.on_thread[kept], old.on_thread[idle]]),
        gpu_first=np.empty(len(kept) + len(idle), dtype=np.int64),
        gpu_last=np.empty(len(kept) + len(idle), dtype=np.int64),
    )
    # Segments that begin and end together: those of a thread in their order, of a stream as in the file.
    tie = np.where(parts.on_thread, np.concatenate([2 * kept, 2 * idle + 1]), parts.event)
    order = np.lexsort((tie, parts.end, parts.start, parts.lane))
    at = np.empty(len(order), dtype=np.int64)
    at[order] = np.arange(len(order))
    place = np.full(len(old), -1, dtype=np.int64)
    place[kept] = at[: len(kept)]
    first, last = (np.where(own >= 0, place[own], -1) for own in (old.gpu_first, old.gpu_last))
    return replace(select_rows(parts, order), gpu_first=first, gpu_last=last), place, at[len(kept) :]


@dataclass(frozen=True)
class Changed:
    """Segments, dependencies with the names of their gaps, and bindings after a change.

    `idle`: the segments in which a thread waits and did not before.
    """

    segments: Segments
    dependencies: Dependencies
    gap_name: Terms
    binding: Binding
    window: Window
    idle: Ints


@dataclass(frozen=True)
class Replayed:
    """The start and work of each segment in a replay, the end of the window, and what held; ns.

    `dependencies` are those of the replay; `gap_name` holds the position of each one's gap in `GAP_NAMES`.
    """

    start: Ints
    work: Ints
    end: int
    dependencies: Dependencies
    gap_name: Terms


def replay_to_end(
    graph: ReplayGraph, start: Ints, work: Ints, dependencies: Dependencies, gap_name: Terms
) -> Replayed:
    """Make a replay up to the window's new end.

    What counts for the window may be a step, after which the run continues.
    """
    before = int(graph.segments.completion[graph.counted].max())
    after = int((start + work)[graph.counted].max())
    return Replayed(start, work, graph.window.end - before + after, dependencies, gap_name)


def change_graph(graph: ReplayGraph, replayed: Replayed) -> Changed:
    """Build the graph at the times of a replay.

    If a thread continues later than its work ends, it waits in between for what it then depends on, and after
    its last event until the window's end. Segments that start after that are left out.
    """
    old, window = graph.segments, Window(graph.window.start, replayed.end)
    start, follows = replayed.start, _is_followed(old)
    until = np.where(follows, np.minimum(np.append(start[1:], 0), window.end), window.end)
    until = np.where(old.on_thread, until, start + replayed.work)
    inside = start <= window.end
    lasts = (old.kind == WAIT) | _takes_rest(old, replayed.dependencies)
    end = np.where(old.on_thread & lasts, until, np.minimum(start + replayed.work, window.end))
    work = np.where(old.kind == WAIT, 0, end - start)
    found, gap_name = _at_new_times(replayed, start, start + work, inside)
    found, edge, _ = _bind(found, start, start + work)
    idle = np.flatnonzero(old.on_thread & inside & (end < until))
    named = np.append(edge, -1)[np.where(follows[idle], idle + 1, len(old))]
    waits = find_waits(graph, found, idle, named)
    segments, place, filler = with_idle(old, inside, (start, end, work), idle, until[idle], waits)
    found, gap_name = _between(found, gap_name, idle, place, filler, segments)
    found, edge, margin = _bind(found, segments.start, segments.completion)
    binding = Binding(edge, margin, number_chains(segments, found, edge))
    return Changed(segments, found, gap_name, binding, window, filler)


def _is_followed(segments: Segments) -> Flags:
    """Flag the segments of threads that another one follows."""
    return np.append((segments.lane[1:] == segments.lane[:-1]) & segments.on_thread[1:], False)


def _takes_rest(segments: Segments, dependencies: Dependencies) -> Flags:
    """Flag the segments that last until the window ends: a thread's last wait or gap that causes nothing."""
    last: Flags = segments.on_thread & ~_is_followed(segments)
    rest: Flags = last & (segments.kind != WORK)
    rest[dependencies.cause] = False
    return rest


def _at_new_times(
    replayed: Replayed, start: Ints, completion: Ints, inside: Flags
) -> tuple[Dependencies, Terms]:
    """Keep the dependencies inside the window that still hold; another thread may have held the GIL."""
    found = replayed.dependencies
    gap = start[found.effect] - completion[found.cause]
    keep = inside[found.cause] & inside[found.effect] & (gap >= 0)
    return select_rows(found, keep), replayed.gap_name[keep]


def _bind(found: Dependencies, start: Ints, completion: Ints) -> tuple[Dependencies, Ints, Ints]:
    """Let the cause that arrives last explain each start.

    Of several that arrive together it is the one that did before, else the first in the order of the rules.

    Returns
    -------
    dependencies, edge, margin
        For each segment its binding edge (-1 for none) and its margin in ns (`NONE` without a second cause).
    """
    gap = start[found.effect] - completion[found.cause]
    holds = found.mechanism == CODE[GIL_HOLDER]
    lag = np.where(holds, np.minimum(found.lag, gap), found.lag)
    arrival = completion[found.cause] + lag
    rank = np.lexsort((found.cause, found.mechanism, ~found.binding, -arrival, found.effect))
    best_first = rank[~holds[rank]]
    ranked = found.effect[best_first]
    is_best = np.append(True, ranked[1:] != ranked[:-1])[: len(ranked)]
    second = best_first[np.append(False, is_best[:-1])[: len(ranked)] & ~is_best]
    binding = np.zeros(len(found), dtype=bool)
    binding[best_first[is_best]] = True
    edge = np.full(len(start), -1, dtype=np.int64)
    edge[found.effect[binding]] = np.flatnonzero(binding)
    margin = np.full(len(start), NONE, dtype=np.int64)
    margin[found.effect[second]] = arrival[edge[found.effect[second]]] - arrival[second]
    columns = (found.cause, found.effect, found.mechanism, found.recorded, found.confidence)
    return Dependencies(*columns, gap=gap, lag=lag, binding=binding), edge, margin


def _between(
    found: Dependencies, gap_name: Terms, idle: Ints, place: Ints, filler: Ints, segments: Segments
) -> tuple[Dependencies, Terms]:
    """Move the dependencies to the new segments; program order goes through those that were added."""
    after = np.full(len(place), -1, dtype=np.int64)
    after[idle] = filler
    through = (found.mechanism == CODE[PROGRAM_ORDER]) & (after[found.cause] >= 0)
    effect = np.where(through, after[found.cause], place[found.effect])
    moved = replace(found, cause=place[found.cause], effect=effect)
    followed = filler[_is_followed(segments)[filler]]
    last = idle[~np.isin(idle, found.cause[through])]
    added = _program_order(
        np.concatenate([followed, place[last]]), np.concatenate([followed + 1, after[last]])
    )
    whole = join_rows([moved, added])
    order = np.lexsort((whole.mechanism, whole.cause, whole.effect))
    named = np.append(gap_name, GAP_OF_MECHANISM[added.mechanism])
    return select_rows(whole, order), named[order]


def _program_order(cause: Ints, effect: Ints) -> Dependencies:
    count = len(cause)
    nothing, sure = np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
    mechanism = np.full(count, CODE[PROGRAM_ORDER], dtype=np.int8)
    return Dependencies(cause, effect, mechanism, sure, sure.astype(float), nothing, nothing, ~sure)
