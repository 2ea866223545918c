"""Host segments as fixes see them: their neighbours on a thread, what they launch, when they wait."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.segments import GAP, WAIT, Segments
from tracegraph.ingest.what_if.changes.edit import FOR_GPU
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.gaps import GAP_CODE, NOT_IN_FILE, UNKNOWN
from tracegraph.vocabulary.mechanisms import CODE, GRAPH_LAUNCH, LAUNCH, STREAM_ORDER

_LONGEST_QUEUE_LAG_NS, _AHEAD_NS, _ENOUGH = 5_000, 20_000, 20
"""Bounds of what counts as back to back on a stream.

The longest gap in ns, how long before its start in ns a work was enqueued that surely stood in the queue, and
how many of those are enough to look at no others.
"""


def stretches(graph: ReplayGraph, chosen: Flags) -> tuple[Ints, Ints]:
    """Find first and last segment of each stretch of a thread in which all segments are chosen, in order."""
    segments = graph.segments
    mine = np.flatnonzero(chosen & segments.on_thread)
    apart = (np.diff(mine) > 1) | (np.diff(segments.lane[mine]) != 0)
    begins = np.append(True, apart)[: len(mine)]
    return mine[begins], mine[np.append(begins[1:], True)[: len(mine)]]


def with_gaps(graph: ReplayGraph, chosen: Flags) -> Flags:
    """Add to chosen host segments what lies between two: silences, and own time of what is around both.

    Segments that launch something, or that wait, are not added.
    """
    segments, calls = graph.segments, graph.calls
    host: Flags = chosen & segments.on_thread
    launches = np.zeros(len(segments), dtype=bool)
    launches[np.concatenate([launched(graph, by_graphs=graphs)[0] for graphs in (False, True)])] = True
    between = np.flatnonzero(segments.on_thread & ~host & ~launches & (segments.kind != WAIT))
    between = between[(between > 0) & (between < len(segments) - 1)]
    before, after, event = between - 1, between + 1, segments.event[between]
    beside = (segments.lane[before] == segments.lane[after]) & host[before] & host[after]
    around = (calls.start[event] <= segments.start[before]) & (calls.end[event] >= segments.end[after])
    host[between[beside & ((event < 0) | around)]] = True
    return host


def launched(graph: ReplayGraph, *, by_graphs: bool) -> tuple[Ints, Ints]:
    """Find host segments that launch GPU work, and the work: by graph launches, or by other calls."""
    found, on_thread = graph.dependencies, graph.segments.on_thread
    mine = np.flatnonzero(found.mechanism == CODE[GRAPH_LAUNCH if by_graphs else LAUNCH])
    cause, effect = found.cause[mine], found.effect[mine]
    chosen = ~on_thread[effect] & on_thread[cause]
    return cause[chosen], effect[chosen]


def with_reasons(segments: Segments) -> Flags:
    """Flag all segments but gaps whose reason no file states: those keep their length."""
    codes = [GAP_CODE[name] for name in (UNKNOWN, *NOT_IN_FILE)]
    found: Flags = (segments.kind != GAP) | ~np.isin(segments.gap_name, codes)
    return found


def host_waits(graph: ReplayGraph) -> Ints:
    """Find the dependencies by which threads wait for the GPU; the waits lie before their effects."""
    found, segments = graph.dependencies, graph.segments
    waits = np.flatnonzero(FOR_GPU[found.mechanism])
    effect = found.effect[waits]
    on_thread = segments.on_thread[effect] & (effect > 0)
    told: Ints = waits[on_thread & (segments.lane[effect - 1] == segments.lane[effect])]
    return told


def back_to_back_ns(graph: ReplayGraph) -> int | None:
    """Find what passes on average between two works of a stream if the next was enqueued long before, ns.

    None if nothing in the file stood in a queue.
    """
    segments, found = graph.segments, graph.dependencies
    asked = np.full(len(segments), graph.window.start, dtype=np.int64)
    cause, effect = launched(graph, by_graphs=False)
    asked[effect] = segments.completion[cause]
    queued = found.binding & (found.mechanism == CODE[STREAM_ORDER]) & (found.gap <= _LONGEST_QUEUE_LAG_NS)
    ahead = queued & (segments.start[found.effect] - asked[found.effect] >= _AHEAD_NS)
    chosen = ahead if ahead.sum() >= _ENOUGH else queued
    return round(float(found.gap[chosen].mean())) if chosen.any() else None
