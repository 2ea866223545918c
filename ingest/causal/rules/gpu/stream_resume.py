"""SYNCHRONIZATION GPU to GPU by timing: a stream goes on just after work on another stream has ended."""

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.launches.launches import LONG_LAG_NS, REACH_NS
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Edges, Found, make_edges, on_gpu
from tracegraph.vocabulary.mechanisms import STREAM_RESUME

_SURE, _LEAST = 0.8, 0.5
"""The confidence before the share of chance is taken off, and the least with which an edge is made.
Estimates: a wait between streams without a row shows in nothing but times. Below a half, that there is none
is likelier (`LEAST_SURE`)."""


def stream_resume(context: Context, found: Found) -> Found:
    """Find edges to GPU work whose known causes came long before, from work that ended just before it.

    The cause is the last work to end on another stream of the device, at most 20 µs before the start. The
    likelihood that an end is there by chance, from the number of ends since the known causes, lowers the
    confidence; below 0.5 no edge is made.
    """
    events = context.events
    late, arrival = _unexplained(context, found.edges)
    nothing = np.empty(0, dtype=np.int64)
    causes, effects, confidences = [nothing], [nothing], [np.empty(0)]
    work = np.flatnonzero(events.is_gpu & (events.end > events.start))
    for device in np.intersect1d(events.device[late], events.device[work]).tolist():
        ended = work[events.device[work] == device]
        ended = ended[np.argsort(events.end[ended], kind="stable")]
        mine = events.device[late] == device
        effect, since = late[mine], arrival[mine]
        last = np.searchsorted(events.end[ended], events.start[effect], "right") - 1
        cause = ended[np.maximum(last, 0)]
        count = last - np.searchsorted(events.end[ended], since, "right") + 1
        confidence = _SURE * (1 - np.minimum(1, count * REACH_NS / (events.start[effect] - since)))
        near = (last >= 0) & (events.lane[cause] != events.lane[effect]) & (confidence >= _LEAST)
        near &= events.start[effect] - events.end[cause] <= REACH_NS
        causes.append(cause[near])
        effects.append(effect[near])
        confidences.append(confidence[near])
    cause, effect = np.concatenate(causes), np.concatenate(effects)
    edges = make_edges(
        STREAM_RESUME,
        on_gpu(events, cause, at_end=True),
        on_gpu(events, effect, at_end=False),
        events.end[cause],
        recorded=False,
        confidence=np.concatenate(confidences),
    )
    return Found(edges)


def _unexplained(context: Context, known: Edges) -> tuple[Ints, Ints]:
    """Find GPU work that starts long after the last of its known causes arrived, and when that was.

    Work that has no cause at all, since the recording began after its launch, could have started with the
    first event.
    """
    events = context.events
    work = np.flatnonzero(events.is_gpu)
    arrival = np.maximum(known.latest_arrival(events)[work], context.recording_start)
    late = events.start[work] - arrival > LONG_LAG_NS
    return work[late], arrival[late]
