"""Which work on the GPU a blocking call waits for, by rows of the file, else by its name."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints, Texts
from tracegraph.ingest.causal.events.events import NONE, Events, is_call_named
from tracegraph.ingest.causal.launches.launches import Launches, Streams, nearest_on_thread
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.mechanisms import (
    BLOCKING_COPY,
    CODE,
    DEVICE_SYNCHRONIZE,
    EVENT_SYNCHRONIZE,
    IMPLICIT_SYNCHRONIZE,
    STREAM_SYNCHRONIZE,
)
from tracegraph.vocabulary.runtime_calls import WAITING_FREES

_ALL_STREAMS = -1
"""The stream number of a cuda_sync row that stands for all streams of its device."""
_NAMED, _UNNAMED = 0.98, 0.8
"""Confidences: of a call that waits for a stream or the only device by its very name, and of one that may
wait for another device or an earlier event, or that waits beside what it is made for (docs/rules.md)."""
LATE_NS = 10_000
"""By how much awaited work may end after the return of its call only because clocks disagree. Chosen by eye:
about twice `_NEAR_NS` of `clock`, within which returns support an edge; a larger one would take work that a
call did not wait for."""
SLIGHT = 10
"""A call that lasts this many times as long as that difference waited all the same: it is too small to tell
otherwise. Ten was chosen by eye: an order of magnitude."""


@dataclass(frozen=True)
class HostWaits:
    """Which GPU activity each blocking call waits for: one row for each call and stream concerned.

    Attributes
    ----------
    recorded
        Whether a cuda_sync row names the stream.
    certain
        Whether the stream is beyond doubt, by such a row or because the call waits for all streams, so that
        the pair may date the clocks.
    """

    call: Ints
    work: Ints
    mechanism: Ints
    recorded: Flags
    certain: Flags
    confidence: Floats


@dataclass(frozen=True)
class SyncRows:
    """The cuda_sync rows, each with its runtime call and the call that recorded its event (-1: none)."""

    row: Ints
    call: Ints
    record: Ints
    kind: Texts


def find_sync_rows(events: Events) -> SyncRows:
    """Join cuda_sync rows with their calls by correlation."""
    row = np.flatnonzero(events.of_role(Role.SYNC))
    calls = np.flatnonzero(events.on_thread & (events.correlation > 0))
    by_id = pd.Series(calls, index=events.correlation[calls])
    by_id = by_id[~by_id.index.duplicated()]

    def find(ids: Ints) -> Ints:
        return by_id.reindex(ids).fillna(-1).to_numpy(dtype=np.int64)

    return SyncRows(row, find(events.correlation[row]), find(events.wait_on_record[row]), events.name[row])


class _Collector:
    """Collects the rows of `HostWaits`, for each rule one block."""

    def __init__(self, events: Events, launches: Launches, streams: Streams) -> None:
        self.events, self.launches, self.streams = events, launches, streams
        nothing = np.empty(0, dtype=np.int64)
        no_flags, no_shares = np.empty(0, dtype=bool), np.empty(0)
        self.blocks = [HostWaits(nothing, nothing, nothing, no_flags, no_flags, no_shares)]

    def add(
        self, mechanism: str, call: Ints, work: Ints, *, recorded: bool, certain: bool, confidence: float
    ) -> None:
        keep = work >= 0
        count = int(keep.sum())
        launched = self.launches.call[work[keep]] >= 0
        self.blocks.append(
            HostWaits(
                call[keep],
                work[keep],
                np.full(count, CODE[mechanism], dtype=np.int64),
                np.full(count, recorded),
                launched & certain,
                np.full(count, confidence),
            )
        )

    def result(self) -> HostWaits:
        return join_rows(self.blocks)


def late_ends(events: Events, calls: Ints, moved: Ints) -> Ints:
    """Calculate how long after each call's return the work that it waited for may end, ns.

    That is 10 µs, by which clocks disagree. A correction of the clock must not put out of order what the file
    itself has in order, so the correction counts, too, if the call lasts ten times as long.

    Parameters
    ----------
    moved
        By how much rows of the GPU were moved at each of these returns, ns.
    """
    slight = (events.end[calls] - events.start[calls]) // SLIGHT
    late: Ints = np.maximum(LATE_NS, np.minimum(LATE_NS + np.maximum(moved, 0), slight))
    return late


def find_host_waits(
    events: Events, launches: Launches, streams: Streams, rows: SyncRows, moved: Ints
) -> HostWaits:
    """Find the last work enqueued before each blocking call (rule 2), by cuda_sync rows, else by name.

    By name, a stream synchronisation concerns the stream on which the thread launched last, if that work
    ended before the call returned; else the stream whose work ended last before the return. A wait for a
    stream is 0.98 sure, one for an event 0.8, since its event and stream are guesses.

    Parameters
    ----------
    moved
        By how much rows of the GPU were moved at the end of each event, ns.
    """
    collect = _Collector(events, launches, streams)
    with_row = np.zeros(len(events), dtype=bool)
    with_row[_recorded_waits(collect, rows)] = True
    blocking = is_call_named(events, "Synchronize") & ~with_row
    of_device = blocking & is_call_named(events, "DeviceSync", "CtxSync")
    of_event = blocking & is_call_named(events, "EventSync")
    _device_waits(collect, DEVICE_SYNCHRONIZE, np.flatnonzero(of_device))
    _device_waits(collect, IMPLICIT_SYNCHRONIZE, np.flatnonzero(events.name.among(*WAITING_FREES)))
    only = len(streams.queue) == 1
    for mechanism, chosen in (
        (STREAM_SYNCHRONIZE, blocking & ~of_device & ~of_event),
        (EVENT_SYNCHRONIZE, of_event),
    ):
        calls = np.flatnonzero(chosen)
        work = _likely_work(events, launches, streams, calls, late_ends(events, calls, moved[calls]))
        of_stream = mechanism == STREAM_SYNCHRONIZE
        confidence = _NAMED if of_stream else _UNNAMED
        certain = only and of_stream
        collect.add(mechanism, calls, work, recorded=False, certain=certain, confidence=confidence)
    _blocking_copies(collect, launches)
    return collect.result()


def _device_waits(collect: _Collector, mechanism: str, calls: Ints) -> None:
    """Collect calls that wait for all streams of a device: the one on which their thread launched last.

    A wait is 0.98 sure if the file has one device and the call is made for waiting, else 0.8.
    """
    events, streams, lanes = collect.events, collect.streams, list(collect.streams.queue)
    device = np.array([events.device[streams.by_lane[lane][0]] for lane in lanes], dtype=np.int64)
    only = len(np.unique(device)) == 1
    mine = np.append(device, NONE)[_last_stream(events, collect.launches, calls, lanes)]
    for lane, of_lane in zip(lanes, device.tolist(), strict=True):
        chosen = calls[(mine == of_lane) | (mine == NONE)]
        work = streams.last_queued(lane, events.start[chosen])
        certain = only and mechanism == DEVICE_SYNCHRONIZE
        confidence = _NAMED if certain else _UNNAMED
        collect.add(mechanism, chosen, work, recorded=False, certain=certain, confidence=confidence)


def concerns(events: Events, row: Ints, stream: Ints, lane_event: int) -> Flags:
    """Tell whether a stream number of each row means the stream and the device on which an activity runs.

    Parameters
    ----------
    row
        Indices of events that name the stream, such as cuda_sync rows.
    stream
        The number that each of them names; its device is that of the event, any if the event has none.
    lane_event
        The index of the activity.
    """
    device, same = events.device[row], stream == events.stream[lane_event]
    found: Flags = same & ((device == events.device[lane_event]) | (device == NONE))
    return found


def concerns_all(events: Events, row: Ints, lane_event: int) -> Flags:
    """Tell whether the stream of each row means that of an activity, alone or with all of its device."""
    own = np.full(len(row), events.stream[lane_event])
    everywhere = (events.stream[row] == _ALL_STREAMS) & concerns(events, row, own, lane_event)
    found: Flags = everywhere | concerns(events, row, events.stream[row], lane_event)
    return found


def _recorded_waits(collect: _Collector, rows: SyncRows) -> Ints:
    """Collect the waits that cuda_sync rows name, and find the calls that need no inference."""
    events, streams = collect.events, collect.streams
    called = rows.call >= 0
    named = pd.Series(events.name[np.maximum(rows.call, 0)], dtype=object).astype(str)
    blocks = called & ~named.str.contains("Query", regex=False).to_numpy(dtype=bool)
    for lane in streams.queue:
        event = int(streams.by_lane[lane][0])
        concerned = concerns_all(events, rows.row, event)
        for kind, mechanism in (
            ("Stream Sync", STREAM_SYNCHRONIZE),
            ("Context Sync", DEVICE_SYNCHRONIZE),
        ):
            chosen = blocks & (rows.kind == kind) & concerned
            work = streams.last_queued(lane, events.start[rows.call[chosen]])
            collect.add(mechanism, rows.call[chosen], work, recorded=True, certain=True, confidence=1.0)
        chosen = blocks & (rows.kind == "Event Sync") & (rows.record >= 0)
        chosen &= concerns(events, rows.row, events.wait_on_stream[rows.row], event)
        work = streams.last_queued(lane, events.start[rows.record[chosen]])
        collect.add(EVENT_SYNCHRONIZE, rows.call[chosen], work, recorded=True, certain=True, confidence=1.0)
    told = called & ((rows.kind != "Event Sync") | (rows.record >= 0))
    calls: Ints = rows.call[told]
    return calls


def _likely_work(events: Events, launches: Launches, streams: Streams, calls: Ints, late: Ints) -> Ints:
    """Find the likely work of calls that do not name their stream: see `find_host_waits`; -1 for none.

    `late`: how long after each return the work may end, ns.
    """
    lanes = list(streams.queue)
    if not lanes or not len(calls):
        return np.full(len(calls), -1, dtype=np.int64)
    candidates = np.stack([streams.last_queued(lane, events.start[calls]) for lane in lanes])
    ends: Ints = np.where(candidates >= 0, events.end[np.maximum(candidates, 0)], NONE)
    ends = np.where(ends <= events.end[calls] + late, ends, NONE)
    latest = ends.argmax(axis=0).astype(np.int64)
    mine = _last_stream(events, launches, calls, lanes)
    column = np.arange(len(calls), dtype=np.int64)
    fits = (mine >= 0) & (ends[np.maximum(mine, 0), column] > NONE)
    chosen = np.where(fits, mine, latest)
    found: Ints = np.where(ends[chosen, column] > NONE, candidates[chosen, column], -1)
    return found


def _last_stream(events: Events, launches: Launches, calls: Ints, lanes: list[int]) -> Ints:
    """Find the position in `lanes` of the stream on which the calling thread launched last, -1 for none."""
    work = np.flatnonzero(launches.call >= 0)
    last = nearest_on_thread(events, calls, launches.call[work], "backward")
    found: Ints = np.searchsorted(lanes, np.append(events.lane[work], -1)[last])
    return np.where(last >= 0, found, -1)


def _blocking_copies(collect: _Collector, launches: Launches) -> None:
    """Collect copy calls that return after their copy ended, if their kind blocks (rule 11)."""
    events = collect.events
    work = np.flatnonzero((launches.call >= 0) & events.of_role(Role.COPY))
    call = launches.call[work]
    by_name = np.array(["Async" not in str(name) for name in events.name[call]], dtype=bool)
    copies = [str(name) for name in events.name[work]]
    pageable = np.array(["DtoH" in name and "Pageable" in name for name in copies], dtype=bool)
    chosen = (
        (by_name | pageable)
        & (events.end[work] <= events.end[call])
        & (events.start[work] >= events.start[call])
    )
    collect.add(BLOCKING_COPY, call[chosen], work[chosen], recorded=False, certain=False, confidence=_UNNAMED)
