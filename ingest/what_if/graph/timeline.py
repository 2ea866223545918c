"""When the events of a run take place in a replay."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.segments import WAIT
from tracegraph.ingest.what_if.graph.graph import Calls, ReplayGraph


def segment_times(graph: ReplayGraph, start: Ints, work: Ints) -> tuple[Ints, Ints]:
    """Find start and end of each segment in a replay with those starts, ns.

    A wait lasts until what comes next; a wait that nothing follows lasts until the replay ends.
    """
    segments = graph.segments
    end = start + work
    waits = np.flatnonzero(segments.on_thread & (segments.kind == WAIT))
    following = np.minimum(waits + 1, len(start) - 1)
    follows = (following > waits) & (segments.lane[following] == segments.lane[waits])
    counted = graph.counted
    shorter = segments.completion[counted].max() - (start + work)[counted].max()
    until = np.where(follows, start[following], graph.window.end - shorter)
    end[waits] = np.maximum(start[waits], until)
    return start, end


def event_times(graph: ReplayGraph, start: Ints, end: Ints) -> tuple[Ints, Ints, Flags]:
    """Find start and end of each event if its segments have those, ns; and flag the events in the window.

    An event begins with the segment that began with it, and ends with the one that ended with it. An event
    without length stays where it was in its segment.
    """
    segments, calls, window = graph.segments, graph.calls, graph.window
    begin, until = calls.start.copy(), calls.end.copy()
    on_gpu = np.flatnonzero(segments.gpu_first >= 0)
    begin[on_gpu], until[on_gpu] = start[segments.gpu_first[on_gpu]], end[segments.gpu_last[on_gpu]]
    threads = np.flatnonzero(segments.on_thread)
    placed = graph.lanes.is_thread[calls.lane] & (calls.start >= window.start) & (calls.end <= window.end)
    mine = np.flatnonzero(placed)
    known = placed.copy()
    known[on_gpu] = True
    if not len(threads):
        return begin, until, known
    stride = window.end - window.start + 1
    keys = segments.lane[threads] * stride + segments.start[threads] - window.start

    def before(time: Ints) -> Ints:
        """Find the segment that ends at or after the time of each of `mine`, and began before it."""
        place = np.searchsorted(keys, calls.lane[mine] * stride + time - window.start) - 1
        segment: Ints = threads[np.maximum(place, 0)]
        return segment

    def moved(time: Ints, segment: Ints) -> Ints:
        """Move a time to the replay: as far into the segment as before, or to its end if it was there."""
        inside = np.minimum(start[segment] + time - segments.start[segment], end[segment])
        return np.where(time >= segments.end[segment], end[segment], inside)

    first, last = calls.start[mine], calls.end[mine]
    at_end = np.where(_is_last(calls, mine), first, first + 1)
    begin[mine] = moved(first, before(at_end))
    until[mine] = np.where(last > first, np.maximum(begin[mine], moved(last, before(last))), begin[mine])
    return begin, until, known


def _is_last(calls: Calls, index: Ints) -> Flags:
    """Flag events without length at the end of their caller, the innermost one with a length."""
    empty = calls.end == calls.start
    above = calls.parent[index]
    while (inner := (above >= 0) & empty[above]).any():
        above = np.where(inner, calls.parent[above], above)
    ends: Flags = empty[index] & (above >= 0) & (calls.end[above] == calls.start[index])
    return ends
