"""Which stretch of a thread launched GPU work, whether or not the call has a row."""

from typing import TYPE_CHECKING

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.vocabulary.mechanisms import CODE, LAUNCH

if TYPE_CHECKING:
    from tracegraph.ingest.what_if.graph.graph import ReplayGraph


def asked_at(graph: "ReplayGraph", event: Ints) -> Ints:
    """Find when each event was launched, ns, or when it began if no call of the file launched it."""
    calls = graph.calls
    call = calls.call[event]
    return np.where(call >= 0, calls.start[call], calls.start[event])


def launching_segments(graph: "ReplayGraph") -> Ints:
    """Find the segment of a thread that launched each segment of GPU work; -1 for none and for threads.

    It is the segment that runs as its call begins. If the call has no row, it is the segment from which the
    launch is inferred.
    """
    segments, calls, found = graph.segments, graph.calls, graph.dependencies
    launching = np.full(len(segments), -1, dtype=np.int64)
    inferred = found.mechanism == CODE[LAUNCH]
    inferred &= segments.on_thread[found.cause] & ~segments.on_thread[found.effect]
    launching[found.effect[inferred]] = found.cause[inferred]
    threads = np.flatnonzero(segments.on_thread)
    on_gpu = np.flatnonzero(~segments.on_thread & (segments.event >= 0))
    on_gpu = on_gpu[calls.call[segments.event[on_gpu]] >= 0]
    if not len(on_gpu) or not len(threads):
        return launching
    call = calls.call[segments.event[on_gpu]]
    stride = graph.window.end - graph.window.start + 2
    keys = segments.lane[threads] * stride + segments.start[threads] - graph.window.start
    called = np.clip(calls.start[call], graph.window.start, graph.window.end) - graph.window.start
    at = threads[np.maximum(np.searchsorted(keys, calls.lane[call] * stride + called, "right") - 1, 0)]
    there = segments.lane[at] == calls.lane[call]
    launching[on_gpu[there]] = at[there]
    return launching
