"""Rows of threads that cannot have lasted as long as they say, by what their thread ran meanwhile."""

import numpy as np

from tracegraph.ingest.causal.callstack import CallStack
from tracegraph.ingest.causal.events import Events
from tracegraph.ingest.causal.impossible_work import Ends, no_ends
from tracegraph.ingest.causal.lane_times import Keys
from tracegraph.store.categories import Role

_MANY, _FEW = 3, 0.2
_FAR_NS, _FAR_TIMES, _NOISE_NS = 1_000_000, 3, 50_000


def find_impossible_calls(events: Events) -> Ends:
    """Calls into a runtime that hold operators of their thread, which a call does not run.

    They had returned before the first of these began. Left alone: one that holds fewer than three, or returns
    less than 1 ms after that, and files in which many calls do, whose rows are no single thread's.
    """
    calls = np.flatnonzero(events.of_role(Role.CALL) & events.on_thread)
    inner = np.flatnonzero(events.of_role(Role.OPERATOR) & events.on_thread)
    if not len(calls) or not len(inner):
        return no_ends()
    keys = _keys(events)
    begins = np.sort(keys.of(events.lane[inner], events.start[inner]))
    first = np.searchsorted(begins, keys.of(events.lane[calls], events.start[calls]), "right")
    last = np.searchsorted(begins, keys.of(events.lane[calls], events.end[calls]), "left")
    holds = last - first >= _MANY
    if not holds.any() or holds.mean() > _FEW:
        return no_ends()
    row, end = calls[holds], keys.time(begins[first[holds]])
    far = events.end[row] - end > _FAR_NS
    return Ends(row[far], end[far])


def find_outliving(events: Events, stack: CallStack) -> Ends:
    """Calls and operators that outlive the operator or annotation that they begin in, by far.

    What runs inside ends first. Left alone: what lasts less than three times as long as what it runs in and
    1 ms more; what begins in the last 50 µs of it, since starts and ends are noisy; and files in which many
    rows outlive others.
    """
    inner = events.of_role(Role.CALL, Role.OPERATOR)
    mine = inner[stack.outliving]
    row, around = stack.outliving[mine], stack.outlived[mine]
    beyond = events.end[row] - events.end[around]
    far = beyond > _FAR_NS + _FAR_TIMES * (events.end - events.start)[around]
    far &= events.end[around] - events.start[row] > _NOISE_NS
    far &= events.of_role(Role.OPERATOR, Role.ANNOTATION)[around]
    if len(row) > _FEW * int((inner & events.on_thread).sum()):
        return no_ends()
    return Ends(row[far], events.end[around[far]])


def _keys(events: Events) -> Keys:
    on = events.on_thread
    return Keys(int(events.start[on].min()), int(events.end[on].max()), int(events.lane.max()) + 1)
