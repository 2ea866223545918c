"""Finds waits for GPU work whose rows are missing from the file."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE, is_call_named
from tracegraph.ingest.causal.launches.launches import LONG_LAG_NS, nearest_on_thread
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import LOST, Found, Waits, no_edges
from tracegraph.vocabulary.runtime_calls import WAITING


def lost_work(context: Context, _: Found) -> Found:
    """Find synchronising calls that return long after all recorded work they waited for, behind lost work.

    A launch without work must stand between the call and the last launch that has its work, of the thread or
    of any thread of its process. The rest of the call is a gap that keeps its length: nothing shows when the
    lost work ended.
    """
    events, launches = context.events, context.launches
    calls = np.flatnonzero(is_call_named(events, *WAITING) & events.on_thread)
    if not len(context.missing.call) or not len(calls):
        return Found(no_edges())
    launching = np.flatnonzero(launches.launching)
    place = nearest_on_thread(events, calls, launching, "backward")
    since = np.where(place >= 0, events.start[launching[np.maximum(place, 0)]] + 1, NONE)
    behind = context.missing.between(events.lane[calls], since, events.start[calls]) > 0
    behind |= _of_other_threads(context, calls, launching)
    begin = np.maximum(events.start[calls], _awaited_until(context)[calls])
    chosen = behind & (events.end[calls] - begin > LONG_LAG_NS)
    calls, begin = calls[chosen], begin[chosen]
    waits = Waits(
        events.lane[calls],
        begin,
        events.end[calls],
        calls,
        np.full(len(calls), LOST, dtype=np.int64),
        np.zeros(len(calls), dtype=bool),
    )
    return Found(no_edges(), waits)


def _of_other_threads(context: Context, calls: Ints, launching: Ints) -> Flags:
    """Tell whether the last launch before each call, on any thread, lacks its work.

    False if several processes launch work.
    """
    events = context.events
    if len(np.unique(context.lanes.process[events.lane[launching]])) > 1:
        return np.zeros(len(calls), dtype=bool)
    lost, there = np.sort(events.start[context.missing.call]), np.sort(events.start[launching])
    at = events.start[calls]
    last_lost = np.append(NONE, lost)[np.searchsorted(lost, at)]
    behind: Flags = last_lost > np.append(NONE, there)[np.searchsorted(there, at)]
    return behind


def _awaited_until(context: Context) -> Ints:
    """Find when the last recorded work that each call waited for had ended; `NONE` for none."""
    events, waits = context.events, context.host_waits
    until = np.full(len(events), NONE, dtype=np.int64)
    done = events.end[waits.work] <= events.end[waits.call]
    np.maximum.at(until, waits.call[done], events.end[waits.work[done]])
    return until
