"""When the events of a run are in a replay."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.segments import WAIT
from tracegraph.ingest.what_if.graph import ReplayGraph


def segment_times(graph: ReplayGraph, start: Ints, work: Ints) -> tuple[Ints, Ints]:
    """Start and end of each segment in a replay with those starts; a wait lasts until what comes next."""
    segments = graph.segments
    end = start + work
    follows = np.append((segments.lane[1:] == segments.lane[:-1]) & segments.on_thread[1:], False)
    waits = np.flatnonzero(follows & (segments.kind == WAIT))
    end[waits] = np.maximum(start[waits], start[np.minimum(waits + 1, len(start) - 1)])
    return start, end


def event_times(graph: ReplayGraph, start: Ints, end: Ints) -> tuple[Ints, Ints, Flags]:
    """Start and end of each event where its segments have those, ns; and which events are in the window.

    An event begins with the segment that began with it, and ends with the one that ended with it.
    """
    segments, calls, window = graph.segments, graph.calls, graph.window
    begin, until = calls.start.copy(), calls.end.copy()
    on_gpu = np.flatnonzero(segments.of_gpu_event >= 0)
    own = segments.of_gpu_event[on_gpu]
    begin[on_gpu], until[on_gpu] = start[own], end[own]
    threads = np.flatnonzero(segments.on_thread)
    placed = graph.lanes.is_thread[calls.lane] & (calls.start >= window.start) & (calls.end <= window.end)
    mine = np.flatnonzero(placed)
    known = placed.copy()
    known[on_gpu] = True
    if not len(threads):
        return begin, until, known
    stride = window.end - window.start + 1
    keys = segments.lane[threads] * stride + segments.start[threads] - window.start

    def at(time: Ints) -> Ints:
        place = np.searchsorted(keys, calls.lane[mine] * stride + time[mine] - window.start, "right") - 1
        segment: Ints = threads[np.maximum(place, 0)]
        return segment

    first, last = at(calls.start), at(calls.end - 1)
    begin[mine] = start[first]
    until[mine] = np.maximum(begin[mine], end[last])
    return begin, until, known
