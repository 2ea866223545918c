"""SYNCHRONIZATION GPU to CPU by the launch queue: a launch returns once earlier work has made room."""

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Found, inferred_waits, make_edges, on_gpu, on_thread
from tracegraph.vocabulary.mechanisms import QUEUE_FULL

_TIMES_USUAL, _LONGER_NS = 2, 5_000
"""A call is long if it lasts `_TIMES_USUAL` its usual work, and `_LONGER_NS` longer than it. Chosen by eye:
calls of one name differ by less, and 5 µs keep short calls from being long by noise."""
_LEAST_CALLS = 8
"""How many calls must agree on the depth of the queue, so that a few calls that are long for another reason
make none. Chosen by eye: fewer could agree by chance."""
_SHARE = 0.5
"""Which share of the long calls must agree on it. A half is the majority: others may be long for another
reason."""
_LEAST_DEPTH = 8
"""The least depth that is believed of a queue: drivers let hundreds of launches wait, so a few are chance."""
_NEARLY_ALL = 0.99
"""Which share of launches must return with no more work ahead of theirs than the queue holds: one in a
hundred may stand in the wrong place, since times are noisy."""
_CONFIDENCE = 0.95
"""The confidence of these edges. In simulations nearly all are right (benchmarks/results/calibration.md), but
simulated lags are kinder than real ones."""


def queue_full(context: Context, _: Found) -> Found:
    """Find edges from the work that made room in a stream's launch queue to the call that waited for room.

    A full queue shows in the file: calls that last twice their usual work, and 5 µs longer, return while
    one and the same number of works of their stream is not done. At least eight calls and half of the long
    ones must agree on that number (within one), and at most 1 % of the launches may have returned with more.
    A call then waits from its start until the work that number of places before its own has ended.
    """
    events = context.events
    calls, causes = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for queue in context.streams.queue.values():
        call, cause = _held(events, context.launches, queue, context.usual_work)
        calls.append(call)
        causes.append(cause)
    call, cause = np.concatenate(calls), np.concatenate(causes)
    released = events.end[cause]
    lane = events.lane[call]
    edges = make_edges(
        QUEUE_FULL,
        on_gpu(events, cause, at_end=True),
        on_thread(lane, released),
        released,
        recorded=False,
        confidence=_CONFIDENCE,
    )
    return Found(edges, inferred_waits(QUEUE_FULL, lane, events.start[call], released, call))


def _held(events: Events, launches: Launches, queue: Ints, usual: Ints) -> tuple[Ints, Ints]:
    """Find the calls that waited for room on one stream, and the work that made it."""
    nothing = np.empty(0, dtype=np.int64)
    call = launches.call[queue]
    place = np.flatnonzero((call >= 0) & (events.start[queue] >= events.end[np.maximum(call, 0)]))
    mine, before = call[place], np.maximum.accumulate(events.end[queue])
    lasted = events.end[mine] - events.start[mine]
    pending = place - np.searchsorted(before, events.end[mine], "right") + 1
    long = (lasted > _TIMES_USUAL * usual[mine]) & (lasted > usual[mine] + _LONGER_NS)
    if long.sum() < _LEAST_CALLS:
        return nothing, nothing
    depth = int(np.bincount(np.maximum(pending[long], 0)).argmax())
    agree = np.abs(pending[long] - depth) <= 1
    if depth < _LEAST_DEPTH or agree.sum() < max(_LEAST_CALLS, _SHARE * long.sum()):
        return nothing, nothing
    # If launches return with more works ahead of theirs, a queue of that depth is not what held the others.
    if np.quantile(pending, _NEARLY_ALL) > depth + 1:
        return nothing, nothing
    made_room = queue[np.maximum(place - depth, 0)]
    room_at = events.end[made_room]
    held = (place >= depth) & (room_at > events.start[mine]) & (room_at < events.end[mine])
    return mine[held], made_room[held]
