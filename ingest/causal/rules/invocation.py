"""INVOCATION (rule 1): the call on the CPU launches the GPU activity."""

import numpy as np

from tracegraph.ingest.causal.edges import Edges, make_edges, on_gpu, on_thread
from tracegraph.ingest.causal.events import NONE, Events, Ints
from tracegraph.ingest.causal.launches import Lags, Launches
from tracegraph.store.mechanisms import LAUNCH


def left_at(events: Events, launches: Launches, lags: Lags, usual_work: Ints, done_before: Ints) -> Ints:
    """For each activity the moment at which its launch left the call; `NONE` without one.

    That is the call's end. Work that starts while the call still runs was launched from inside it: one usual
    latency before the work's start, but not in the first half of the time since the call's start; and where
    the stream was busy for longer than such a call works, after the call's usual work, since then it waited.
    """
    call = np.maximum(launches.call, 0)
    start, call_start, call_end = events.start, events.start[call], events.end[call]
    half = call_start + (start - call_start) // 2
    inside = np.maximum(half, start - lags.launch_from_start)
    worked = call_start + usual_work[call]
    held = done_before > worked + lags.launch_from_end
    inside = np.where(held, np.minimum(inside, worked), inside)
    found: Ints = np.where(launches.call < 0, NONE, np.where(start < call_end, inside, call_end))
    return found


def invocation(events: Events, launches: Launches, lags: Lags, left: Ints) -> Edges:
    """An edge from every launching call to each activity that shares its correlation.

    `left`: see `left_at`. Work from inside a call is scored from the call's start. Work that seems to start
    before its call (a clock error) keeps the edge, from the moment of its own start.
    """
    work = np.flatnonzero(launches.call >= 0)
    call = launches.call[work]
    start, call_start, call_end = events.start[work], events.start[call], events.end[call]
    inside = start < call_end
    usual = np.where(inside, call_start + lags.launch_from_start, call_end + lags.launch_from_end)
    return make_edges(
        LAUNCH,
        on_thread(events.lane[call], np.minimum(left[work], start)),
        on_gpu(events, work, at_end=False),
        usual,
        recorded=True,
        confidence=np.where(start < call_start, 0.9, 1.0),
    )
