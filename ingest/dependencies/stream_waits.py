"""SYNCHRONIZATION GPU to GPU (rule 3): cudaStreamWaitEvent holds a stream until recorded work has ended."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.dependencies.edges import Edges, make_edges, on_gpu
from tracegraph.ingest.dependencies.synchronization import SyncRows, concerns
from tracegraph.ingest.events import Events, Flags, Ints, is_call_named
from tracegraph.ingest.launches import (
    LONGEST_STREAM_GAP_NS,
    Lags,
    Launches,
    Streams,
    nearest_on_thread,
)
from tracegraph.ingest.overlaps import only_slightly

_INFERRED_CONFIDENCE = 0.98


@dataclass(frozen=True)
class _HeldWork:
    """Pairs of GPU activities, awaited and held; `recorded`: a cuda_sync row names both streams."""

    cause: Ints
    effect: Ints
    recorded: Flags


def stream_edges(events: Events, launches: Launches, streams: Streams, rows: SyncRows, lags: Lags) -> Edges:
    """From the work enqueued before a recorded event to the work enqueued next on the waiting stream.

    The held work may be launched by any thread. Without cuda_sync rows the streams are inferred: a wait call
    holds the stream that its thread launches on next, for the other stream that it launched on last.
    """
    waits = _possible(
        events, _distinct(_recorded(events, streams, rows), _inferred(events, launches, streams, rows))
    )
    return make_edges(
        "stream wait event",
        on_gpu(events, waits.cause, at_end=True),
        on_gpu(events, waits.effect, at_end=False),
        events.end[waits.cause] + _usual_lag(events, waits, lags),
        recorded=waits.recorded,
        confidence=np.where(waits.recorded, 1.0, _INFERRED_CONFIDENCE),
    )


def _recorded(events: Events, streams: Streams, rows: SyncRows) -> tuple[Ints, Ints]:
    chosen = (rows.kind == "Stream Wait Event") & (rows.call >= 0) & (rows.record >= 0)
    call, record = events.start[rows.call[chosen]], events.start[rows.record[chosen]]
    waiting, awaited = events.stream[rows.row[chosen]], events.wait_on_stream[rows.row[chosen]]
    cause = np.full(len(call), -1, dtype=np.int64)
    effect = cause.copy()
    for lane in streams.queue:
        event, row = int(streams.by_lane[lane][0]), rows.row[chosen]
        is_cause = concerns(events, row, awaited, event)
        cause = np.where(is_cause, streams.last_queued(lane, record), cause)
        is_effect = concerns(events, row, waiting, event)
        effect = np.where(is_effect, streams.next_queued(lane, call), effect)
    return cause, effect


def _inferred(events: Events, launches: Launches, streams: Streams, rows: SyncRows) -> tuple[Ints, Ints]:
    """Waits whose call has no cuda_sync row, paired with the last record call of the same thread."""
    waits = is_call_named(events, "StreamWaitEvent")
    waits[rows.call[(rows.call >= 0) & (rows.record >= 0)]] = False
    records = np.flatnonzero(is_call_named(events, "EventRecord"))
    calls, launched = np.flatnonzero(waits), _launched_by_thread(events, launches)
    record = nearest_on_thread(events, calls, records, "backward")
    calls, record = calls[record >= 0], records[record[record >= 0]]
    held = _held_stream(events, launches, launched, calls)
    calls, record, held = calls[held >= 0], record[held >= 0], held[held >= 0]
    awaited = _awaited_stream(events, launches, launched, record, held)
    cause = np.full(len(calls), -1, dtype=np.int64)
    effect = cause.copy()
    for lane in streams.queue:
        cause = np.where(awaited == lane, streams.last_queued(lane, events.start[record]), cause)
        effect = np.where(held == lane, streams.next_queued(lane, events.start[calls]), effect)
    return cause, effect


def _launched_by_thread(events: Events, launches: Launches) -> Ints:
    """GPU work with a launch, by the launching thread and the time of the launch."""
    work = np.flatnonzero(launches.call >= 0)
    call = launches.call[work]
    return work[np.lexsort((events.start[call], events.lane[call]))]


def _held_stream(events: Events, launches: Launches, launched: Ints, calls: Ints) -> Ints:
    """Lane of the stream that each wait call holds: the next one launched on by its thread, else by any."""
    launch = launches.call[launched]
    mine = nearest_on_thread(events, calls, launch, "forward")
    by_time = np.argsort(events.start[launch], kind="stable")
    following = np.searchsorted(events.start[launch][by_time], events.start[calls], "right")
    anyone = np.append(by_time, -1)[following]
    position = np.where(mine >= 0, mine, anyone)
    return np.where(position >= 0, np.append(events.lane[launched], -1)[position], -1)


def _awaited_stream(events: Events, launches: Launches, launched: Ints, records: Ints, held: Ints) -> Ints:
    """Lane of the stream that each record call is about: the last other one that its thread launched on."""
    lane, thread = events.lane[launched], events.lane[launches.call[launched]]
    changes = np.append(True, (lane[1:] != lane[:-1]) | (thread[1:] != thread[:-1]))[: len(lane)]
    before_run = np.maximum.accumulate(np.where(changes, np.arange(len(lane)), 0)) - 1
    last = nearest_on_thread(events, records, launches.call[launched], "backward")
    same = (last >= 0) & (np.append(lane, -1)[last] == held)
    other = np.where(same, np.append(before_run, -1)[last], last)
    stays = (other >= 0) & (np.append(thread, -1)[other] == events.lane[records])
    return np.where(stays, np.append(lane, -1)[other], -1)


def _distinct(recorded: tuple[Ints, Ints], inferred: tuple[Ints, Ints]) -> _HeldWork:
    cause = np.concatenate([recorded[0], inferred[0]])
    effect = np.concatenate([recorded[1], inferred[1]])
    known = np.flatnonzero((cause >= 0) & (effect >= 0))
    pairs, first = np.unique(np.stack([cause[known], effect[known]]), axis=1, return_index=True)
    return _HeldWork(pairs[0], pairs[1], known[first] < len(recorded[0]))


def _possible(events: Events, waits: _HeldWork) -> _HeldWork:
    """Without pairs in which the held work started before the awaited one ended, noise aside."""
    keep = only_slightly(events, waits.cause, waits.effect)
    return _HeldWork(waits.cause[keep], waits.effect[keep], waits.recorded[keep])


def _usual_lag(events: Events, waits: _HeldWork, lags: Lags) -> int:
    gaps = np.maximum(events.start[waits.effect] - events.end[waits.cause], 0)
    limit = min(LONGEST_STREAM_GAP_NS, int(lags.stream_order.max(initial=0)))
    return min(limit, int(np.quantile(gaps, 0.05, method="lower"))) if len(gaps) else 0
