"""SYNCHRONIZATION GPU to GPU (rule 3): cudaStreamWaitEvent holds a stream until an event's work ended."""

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.events.overlaps import only_slightly
from tracegraph.ingest.causal.launches.awaited_work import SyncRows, concerns
from tracegraph.ingest.causal.launches.launches import REACH_NS, Streams
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Found, make_edges, on_gpu
from tracegraph.ingest.causal.rules.gpu.wait_calls import HeldWork, infer_waits
from tracegraph.vocabulary.mechanisms import STREAM_WAIT_EVENT

_LOW = 0.05
"""The quantile of lags that is taken for the usual one. Low, since waits only lengthen it, as in
`launches`."""
_ENOUGH_LAGS = 3
"""Two streams with fewer clear lags get the usual lag of all pairs of streams. Chosen by eye: one or two lags
may both contain a wait."""


def stream_waits(context: Context, found: Found) -> Found:
    """Find edges from the work enqueued before a recorded event to the next work on the waiting stream.

    Any thread may launch the held work. If no cuda_sync row names the streams, `infer_waits` infers them.
    """
    events, rows = context.events, context.sync_rows
    arrival = found.edges.latest_arrival(events)
    recorded = _recorded(events, context.streams, rows)
    told = np.zeros(len(events), dtype=bool)
    told[rows.call[(rows.call >= 0) & (rows.record >= 0)]] = True
    inferred = infer_waits(events, context.launches, context.streams, told, arrival, recorded)
    waits = _distinct(join_rows([recorded, inferred]))
    edges = make_edges(
        STREAM_WAIT_EVENT,
        on_gpu(events, waits.cause, at_end=True),
        on_gpu(events, waits.effect, at_end=False),
        events.end[waits.cause] + _usual_lags(events, waits, arrival),
        recorded=waits.recorded,
        confidence=waits.confidence,
    )
    return Found(edges)


def _recorded(events: Events, streams: Streams, rows: SyncRows) -> HeldWork:
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
    chosen = (cause >= 0) & (effect >= 0)
    chosen[chosen] = only_slightly(events, cause[chosen], effect[chosen])
    count = int(chosen.sum())
    return HeldWork(cause[chosen], effect[chosen], np.ones(count, dtype=bool), np.ones(count))


def _distinct(waits: HeldWork) -> HeldWork:
    """Keep each pair once, the recorded one if there is one: these come first."""
    first = np.unique(np.stack([waits.cause, waits.effect]), axis=1, return_index=True)[1]
    return select_rows(waits, first)


def _usual_lags(events: Events, waits: HeldWork, arrival: Ints) -> Ints:
    """Find a low quantile of the lags, ns, between each two streams, over starts that nothing else held."""
    gap = np.maximum(events.start[waits.effect] - events.end[waits.cause], 0)
    clear = (events.end[waits.cause] > arrival[waits.effect]) & (gap <= REACH_NS)
    pair = np.stack([events.lane[waits.cause], events.lane[waits.effect]])
    pair = np.unique(pair, axis=1, return_inverse=True)[1].reshape(-1)
    lags = np.zeros(len(gap), dtype=np.int64)
    for code in range(int(pair.max(initial=-1)) + 1):
        mine = clear & (pair == code)
        chosen = gap[mine] if mine.sum() >= _ENOUGH_LAGS else gap[clear]
        lags[pair == code] = np.quantile(chosen, _LOW, method="lower") if len(chosen) else 0
    return lags
