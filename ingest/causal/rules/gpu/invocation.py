"""INVOCATION (rule 1): the call on the CPU launches the GPU activity."""

import numpy as np

from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Found, make_edges, on_gpu, on_thread
from tracegraph.vocabulary.mechanisms import LAUNCH


def invocation(context: Context, _: Found) -> Found:
    """Make an edge from every launching call to each activity that shares its correlation.

    The arrival counts from the call's end, or from its start if the work started inside the call. Work that
    seems to start before its call (a clock error) keeps the edge, from the moment of its own start, with a
    confidence of 0.9 instead of 1: the id is stated, but one of the times is wrong.
    """
    events, lags = context.events, context.lags
    work = np.flatnonzero(context.launches.call >= 0)
    call = context.launches.call[work]
    start, call_start, call_end = events.start[work], events.start[call], events.end[call]
    inside = start < call_end
    usual = np.where(inside, call_start + lags.launch_from_start, call_end + lags.launch_from_end)
    edges = make_edges(
        LAUNCH,
        on_thread(events.lane[call], np.minimum(context.left_at[work], start)),
        on_gpu(events, work, at_end=False),
        usual,
        recorded=True,
        confidence=np.where(start < call_start, 0.9, 1.0),
    )
    return Found(edges)
