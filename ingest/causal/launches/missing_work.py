"""Launches whose GPU work has no row, although work launched after it has one, or was waited for."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import Events, is_call_named
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.launches.doubts import JOINED
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.causal.launches.recording_holes import working_calls
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.runtime_calls import WAITING, WAITING_FOR_DEVICE

_LAUNCHING, _OF_HOST = ("aunch",), ("HostFunc", "HostFn")
_COPYING = ("emcpy", "emset")
"""Parts of names lack their first letter, so that they match a capital and a small one."""
_BEGINS, _ENDS = ("BeginCapture", "beginCapture"), ("EndCapture", "endCapture")


class MissingWork:
    """The launches without work (`call`); it counts those between two moments of a thread."""

    def __init__(self, events: Events, call: Ints) -> None:
        self.call = call
        self._keys = _keys(events)
        self._placed = np.sort(self._keys.of(events.lane[call], events.start[call]))

    def between(self, lane: Ints, since: Ints, until: Ints) -> Ints:
        """Count the launches of each thread that begin from `since` on and before `until`, ns."""
        bounds = [np.clip(moment, self._keys.start, self._keys.end) for moment in (since, until)]
        first, last = (np.searchsorted(self._placed, self._keys.of(lane, moment)) for moment in bounds)
        count: Ints = np.maximum(last - first, 0)
        return count


def find_missing(events: Events, launches: Launches, stack: CallStack) -> MissingWork:
    """Find launches that lack their work, though later ones have theirs, or a wait for it returned.

    Calls count whose name launches, or usually does, except for copies, which have no row if they move
    nothing. These calls lack nothing: a call inside or around one that has work, whose work it shares; a call
    in a graph's capture, whose work runs later in the graph; and calls of an id that as much work as calls
    carry. If nothing joins work with its calls, or no call has work, nothing is known.

    Parameters
    ----------
    launches
        Which call launched which work.
    stack
        Which call is inside which.
    """
    has = launches.launching
    calls = np.flatnonzero(events.of_role(Role.CALL) & events.on_thread)
    joined = int((launches.call[events.is_gpu] >= 0).sum())
    if not len(calls) or not joined or joined < JOINED * int(events.is_gpu.sum()):
        return MissingWork(events, calls[:0])
    lacks = np.zeros(len(events), dtype=bool)
    lacks[calls] = working_calls(events, launches, calls)[1] & ~is_call_named(events, *_COPYING)[calls]
    launching = is_call_named(events, *_LAUNCHING) & ~is_call_named(events, *_OF_HOST)
    lacks |= launching & events.on_thread & ~has
    lacks &= ~_shares_work(events, has, stack)
    lacks[calls] &= ~_captured(events, calls)
    lacks &= ~_all_there(events, has | lacks) & _followed(events, has)
    found = np.flatnonzero(lacks)
    return MissingWork(events, found)


def _keys(events: Events) -> Keys:
    start, end = events.start[events.on_thread], events.end[events.on_thread]
    span = (int(start.min()), int(end.max())) if len(start) else (0, 0)
    return Keys(*span, int(events.lane.max(initial=0)) + 1)


def _shares_work(events: Events, has: Flags, stack: CallStack) -> Flags:
    """Tell which calls are right inside or around a call that launched work."""
    inner = np.append(has, False)[stack.parent]
    outer = np.zeros(len(events) + 1, dtype=bool)
    outer[stack.parent[has]] = True
    shared: Flags = inner | outer[:-1]
    return shared


def _all_there(events: Events, launching: Flags) -> Flags:
    """Tell which events have an id, as written, of several launching calls and as much GPU work."""
    ids, place = np.unique(events.written_correlation, return_inverse=True)
    works, calls = (np.bincount(place[chosen], minlength=len(ids)) for chosen in (events.is_gpu, launching))
    there: Flags = ((ids > 0) & (calls > 1) & (works >= calls))[place]
    return there


def _captured(events: Events, calls: Ints) -> Flags:
    """Tell which calls of a thread stand between the begin and the end of a graph's capture."""
    kind = np.select([is_call_named(events, *_BEGINS), is_call_named(events, *_ENDS)], [1, 2], 0)
    marks = np.flatnonzero((kind > 0) & events.on_thread)
    if not len(marks):
        return np.zeros(len(calls), dtype=bool)
    keys = _keys(events)
    placed = keys.of(events.lane[marks], events.start[marks])
    marks, placed = marks[np.argsort(placed)], np.sort(placed)
    after = np.searchsorted(placed, keys.of(events.lane[calls], events.start[calls]))
    before, mark = np.append(marks, -1)[after - 1], np.append(marks, -1)[after]
    lane = np.append(events.lane, -1)
    begun = (after > 0) & (lane[before] == events.lane[calls]) & (kind[before] == 1)
    ends = (mark >= 0) & (lane[mark] == events.lane[calls]) & (kind[mark] == 2)
    captured: Flags = begun | ends
    return captured


def _followed(events: Events, has: Flags) -> Flags:
    """Tell what begins before a call of its thread that has work or waits, or its rank's for a device."""
    waits = is_call_named(events, *WAITING) & events.on_thread
    last = np.full(int(events.lane.max(initial=0)) + 1, np.iinfo(np.int64).min)
    chosen = np.flatnonzero((has & events.on_thread) | waits)
    np.maximum.at(last, events.lane[chosen], events.start[chosen])
    whole = np.flatnonzero(waits & is_call_named(events, *WAITING_FOR_DEVICE))
    last_of_rank = np.full(int(events.rank.max(initial=0)) + 1, np.iinfo(np.int64).min)
    np.maximum.at(last_of_rank, events.rank[whole], events.start[whole])
    followed: Flags = events.start < np.maximum(last[events.lane], last_of_rank[events.rank])
    return followed
