"""Rows of threads that cannot have lasted as long as they say, by what their thread ran meanwhile."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.clock.impossible_work import Ends, no_ends
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import Events, marks_step
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.vocabulary.categories import Role

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
    if not mine.any():
        return no_ends()
    of_steps = _outliving_steps(events, inner)
    row = np.concatenate([stack.outliving[mine], of_steps[0]])
    around = np.concatenate([stack.outlived[mine], of_steps[1]])
    beyond = events.end[row] - events.end[around]
    far = beyond > _FAR_NS + _FAR_TIMES * (events.end - events.start)[around]
    far &= events.end[around] - events.start[row] > _NOISE_NS
    far &= events.of_role(Role.OPERATOR, Role.ANNOTATION)[around]
    if int(mine.sum()) > _FEW * int((inner & events.on_thread).sum()):
        return no_ends()
    return no_ends().earliest(Ends(row[far], events.end[around[far]]))


def _outliving_steps(events: Events, inner: Flags) -> tuple[Ints, Ints]:
    """Long rows that begin in a step of their thread, whatever else they begin in, and these steps."""
    steps = np.flatnonzero(marks_step(events) & events.on_thread)
    if not len(steps):
        return steps, steps
    keys = _keys(events)
    begins = keys.of(events.lane[steps], events.start[steps])
    steps, begins = steps[np.argsort(begins)], np.sort(begins)
    rows = np.flatnonzero(inner & events.on_thread & (events.end - events.start > _FAR_NS))
    place = np.searchsorted(begins, keys.of(events.lane[rows], events.start[rows]), "right") - 1
    mine = steps[np.maximum(place, 0)]
    inside = (place >= 0) & (events.lane[mine] == events.lane[rows])
    inside &= events.start[rows] < events.end[mine]
    return rows[inside], mine[inside]


def _keys(events: Events) -> Keys:
    on = events.on_thread
    return Keys(int(events.start[on].min()), int(events.end[on].max()), int(events.lane.max()) + 1)
