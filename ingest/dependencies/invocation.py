"""INVOCATION (rule 1): the call on the CPU launches the GPU activity."""

import numpy as np

from tracegraph.ingest.dependencies.edges import Edges, make_edges, on_gpu, on_thread
from tracegraph.ingest.events import Events
from tracegraph.ingest.launches import Lags, Launches

_DOUBTFUL = 0.5


def invocation(events: Events, launches: Launches, lags: Lags) -> Edges:
    """An edge from every launching call to each activity that shares its correlation.

    It leaves the call at its end. Work that starts while the call still runs was launched from inside it:
    there it leaves one usual latency before the work's start, but not in the first half of the time since the
    call's start, and is scored from the call's start. Work that seems to start before its call (a clock
    error) keeps the edge, from the moment of its own start.
    """
    work = np.flatnonzero(launches.call >= 0)
    call = launches.call[work]
    start, call_start, call_end = events.start[work], events.start[call], events.end[call]
    inside = start < call_end
    half = call_start + (start - call_start) // 2
    left_at = np.where(inside, np.maximum(half, start - lags.launch_from_start), call_end)
    usual = np.where(inside, call_start + lags.launch_from_start, call_end + lags.launch_from_end)
    return make_edges(
        "launch",
        on_thread(events.lane[call], np.minimum(left_at, start)),
        on_gpu(events, work, at_end=False),
        usual,
        recorded=True,
        confidence=np.where(launches.doubtful[work], _DOUBTFUL, np.where(start < call_start, 0.9, 1.0)),
    )
