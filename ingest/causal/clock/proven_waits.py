"""Finds GPU work that had certainly ended when a call returned: rows of the file leave no doubt."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import Events, is_call_named, is_named
from tracegraph.ingest.causal.launches.awaited_work import concerns, concerns_all, find_sync_rows
from tracegraph.ingest.causal.launches.launches import Launches, Streams
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.runtime_calls import WAITING, WAITING_FOR_DEVICE

_OF_EVENT = ("Event",)
"""Part of the names of calls that wait for an event, whose stream their name does not tell."""
TO_HOST = ("DtoH", "DeviceToHost")
"""Parts of the names of copies to the host, by CUDA and by HIP."""


@dataclass(frozen=True)
class Proven:
    """Calls that returned, and the last work of a stream that had ended by then: it and all before it."""

    call: Ints
    work: Ints

    def of_lane(self, events: Events, lane: int) -> "Proven":
        """Keep the waits for one stream."""
        return select_rows(self, events.lane[self.work] == lane)


def proven_waits(events: Events, launches: Launches, streams: Streams, process: Ints) -> Proven:
    """Find waits whose stream is beyond doubt, for work that a call of the same process launched.

    These are waits that rows of the category cuda_sync name; calls that wait for a device or a stream if the
    file has only one; and copies to the host whose call returns after them.

    Parameters
    ----------
    streams
        The works of each stream.
    process
        The process of each lane, by number.
    """
    parts = [_recorded(events, streams), _by_name(events, streams), _copies(events, launches)]
    found = join_rows(parts)
    launched = launches.call[found.work]
    same = process[events.lane[launched]] == process[events.lane[found.call]]
    return select_rows(found, (found.work >= 0) & (launched >= 0) & same)


def _recorded(events: Events, streams: Streams) -> Proven:
    rows = find_sync_rows(events)
    named = events.name[np.maximum(rows.call, 0)]
    blocks = (rows.call >= 0) & np.array(["Query" not in str(one) for one in named], dtype=bool)
    calls, works = [_none()], [_none()]
    for lane in streams.queue:
        event = int(streams.by_lane[lane][0])
        mine = concerns_all(events, rows.row, event)
        whole = blocks & np.isin(rows.kind, ("Stream Sync", "Context Sync")) & mine
        calls.append(rows.call[whole])
        works.append(streams.last_queued(lane, events.start[rows.call[whole]]))
        until = blocks & (rows.kind == "Event Sync") & (rows.record >= 0)
        until &= concerns(events, rows.row, events.wait_on_stream[rows.row], event)
        calls.append(rows.call[until])
        works.append(streams.last_queued(lane, events.start[rows.record[until]]))
    return Proven(np.concatenate(calls), np.concatenate(works))


def _by_name(events: Events, streams: Streams) -> Proven:
    waiting = is_call_named(events, *WAITING)
    of_device = waiting & is_call_named(events, *WAITING_FOR_DEVICE)
    of_stream = waiting & ~of_device & ~is_call_named(events, *_OF_EVENT)
    first = np.array([streams.by_lane[lane][0] for lane in streams.queue], dtype=np.int64)
    one_device = len(np.unique(events.device[first])) == 1
    chosen = np.flatnonzero((of_device & one_device) | (of_stream & (len(first) == 1)))
    calls, works = [_none()], [_none()]
    for lane in streams.queue:
        calls.append(chosen)
        works.append(streams.last_queued(lane, events.start[chosen]))
    return Proven(np.concatenate(calls), np.concatenate(works))


def _copies(events: Events, launches: Launches) -> Proven:
    copies = np.flatnonzero((launches.call >= 0) & events.of_role(Role.COPY) & is_named(events, *TO_HOST))
    call = launches.call[copies]
    blocks = ~is_named(events, "Async")[call] & is_named(events, "emcpy")[call]
    return Proven(call[blocks], copies[blocks])


def _none() -> Ints:
    return np.empty(0, dtype=np.int64)
