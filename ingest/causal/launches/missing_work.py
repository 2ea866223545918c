"""Launches whose GPU work has no row, although work that was launched after them has, or was waited for."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import Events, is_call_named
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.launches.holes import working_calls
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.waiting_calls import WAITING, WAITING_FOR_DEVICE

_LAUNCHING, _OF_HOST, _GRAPH = ("aunch",), ("HostFunc", "HostFn"), ("GraphLaunch",)
_JOINED, _COPYING = 0.1, ("emcpy", "emset")
_BEGINS, _ENDS = ("BeginCapture", "beginCapture"), ("EndCapture", "endCapture")


class MissingWork:
    """The launches without work, `call`, by thread and start; counts those between moments of a thread."""

    def __init__(self, events: Events, call: Ints) -> None:
        self.call = call
        self._keys = _keys(events)
        self._placed = np.sort(self._keys.of(events.lane[call], events.start[call]))

    def between(self, lane: Ints, since: Ints, until: Ints) -> Ints:
        """How many launches of each thread begin after `since` and before `until`, ns."""
        bounds = [np.clip(moment, self._keys.start, self._keys.end) for moment in (since, until)]
        first, last = (np.searchsorted(self._placed, self._keys.of(lane, moment)) for moment in bounds)
        count: Ints = np.maximum(last - first, 0)
        return count


def find_missing(events: Events, launches: Launches, stack: CallStack) -> MissingWork:
    """Find launches that lack their work, while later ones of their thread have theirs, or a wait returned.

    Calls of names that launch, or usually do, but for copies, which have no row where they move nothing. A
    call inside or around one that has work shares its work; what a graph's capture takes up runs later, in
    the graph; where as much work as calls carry an id, none of it is lost; and where nothing joins work with
    its calls, or none of them has any, nothing is known.
    """
    has = launches.launching
    calls = np.flatnonzero(events.of_role(Role.CALL) & events.on_thread)
    joined = int((launches.call[events.is_gpu] >= 0).sum())
    if not len(calls) or not joined or joined < _JOINED * int(events.is_gpu.sum()):
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
    """Find calls right inside or around a call that launched work."""
    inner = np.append(has, False)[stack.parent]
    outer = np.zeros(len(events) + 1, dtype=bool)
    outer[stack.parent[has]] = True
    shared: Flags = inner | outer[:-1]
    return shared


def _all_there(events: Events, launching: Flags) -> Flags:
    """Events with an id, as written, that as much GPU work as launching calls carry, several of them."""
    ids, place = np.unique(events.written_correlation, return_inverse=True)
    works, calls = (np.bincount(place[chosen], minlength=len(ids)) for chosen in (events.is_gpu, launching))
    there: Flags = ((ids > 0) & (calls > 1) & (works >= calls))[place]
    return there


def _captured(events: Events, calls: Ints) -> Flags:
    """Which calls of a thread stand between the begin and the end of a graph's capture."""
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
    """Tell what begins before a call of its thread with work or a wait, or one of its rank for a device."""
    waits = is_call_named(events, *WAITING) & events.on_thread
    last = np.full(int(events.lane.max(initial=0)) + 1, np.iinfo(np.int64).min)
    chosen = np.flatnonzero((has & events.on_thread) | waits)
    np.maximum.at(last, events.lane[chosen], events.start[chosen])
    whole = np.flatnonzero(waits & is_call_named(events, *WAITING_FOR_DEVICE))
    last_of_rank = np.full(int(events.rank.max(initial=0)) + 1, np.iinfo(np.int64).min)
    np.maximum.at(last_of_rank, events.rank[whole], events.start[whole])
    followed: Flags = events.start < np.maximum(last[events.lane], last_of_rank[events.rank])
    return followed
