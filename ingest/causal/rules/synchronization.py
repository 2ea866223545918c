"""SYNCHRONIZATION GPU to CPU (rule 2): a blocking call waits for work on the GPU."""

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.array_tables import join_rows, select_rows
from tracegraph.ingest.causal.context import Context
from tracegraph.ingest.causal.edges import Waits, make_edges, on_gpu, on_thread
from tracegraph.ingest.causal.found import Found
from tracegraph.ingest.causal.host_waits import LATE_NS
from tracegraph.ingest.causal.launches import LONGEST_LAUNCH_NS
from tracegraph.store.mechanisms import (
    BLOCKING_COPY,
    CODE,
    DEVICE_SYNCHRONIZE,
    EVENT_SYNCHRONIZE,
    IMPLICIT_SYNCHRONIZE,
    MECHANISMS,
    STREAM_SYNCHRONIZE,
)

_LOW, _ENOUGH_RETURNS = 0.05, 12


def synchronization(context: Context, _: Found) -> Found:
    """Edges from awaited work into the call that waits, and the stretches in which it waits.

    The call is cut where the last of its awaited work ends: before, it waits; after, it works. A call that
    waits for its own work first launches it: until the launch has left it, it works. What every return takes
    at least after that end is waiting, too: for the news. Work that ended before the call, or clearly after
    its return, does not hold it: the former gets an edge to the call's start.
    """
    events, waits = context.events, context.host_waits
    begin, end, back = events.start[waits.work], events.end[waits.work], events.end[waits.call]
    waits = select_rows(waits, (end <= back) | ((begin < back) & (end <= back + LATE_NS)))
    awaited = np.clip(events.end[waits.work], events.start[waits.call], events.end[waits.call])
    released = pd.Series(awaited).groupby(waits.call).transform("max").to_numpy(dtype=np.int64)
    done, held = released, released > events.start[waits.call]
    released = done + np.where(held, _wake_up(events.end[waits.call] - done, waits.mechanism, held), 0)
    blocking = (STREAM_SYNCHRONIZE, DEVICE_SYNCHRONIZE, EVENT_SYNCHRONIZE)
    parts = [
        make_edges(
            mechanism,
            on_gpu(events, waits.work[chosen], at_end=True),
            on_thread(events.lane[waits.call[chosen]], released[chosen]),
            events.end[waits.work[chosen]] + (released - done)[chosen],
            recorded=waits.recorded[chosen],
            confidence=waits.confidence[chosen],
        )
        for mechanism in (*blocking, BLOCKING_COPY, IMPLICIT_SYNCHRONIZE)
        for chosen in [waits.mechanism == CODE[mechanism]]
    ]
    own = context.launches.call[waits.work] == waits.call
    begin = np.where(own, context.left_at[waits.work], events.start[waits.call])
    lane = events.lane[waits.call]
    stretches = Waits(lane, begin, released, waits.call, waits.mechanism, waits.recorded)
    return Found(join_rows(parts), select_rows(stretches, held))


def _wake_up(after: Ints, mechanism: Ints, held: Flags) -> Ints:
    """How long the news of an end takes at least, by rule: two thirds of a low quantile of `after`, the rest
    being the call's own return; 0 where few were seen."""
    if held.sum() < _ENOUGH_RETURNS:
        return np.zeros(len(after), dtype=np.int64)
    usual = np.full(len(MECHANISMS), np.quantile(after[held], _LOW), dtype=np.int64)
    for code in np.unique(mechanism[held]).tolist():
        mine = after[held & (mechanism == code)]
        if len(mine) >= _ENOUGH_RETURNS:
            usual[code] = np.quantile(mine, _LOW)
    return np.minimum(usual[mechanism] * 2 // 3, LONGEST_LAUNCH_NS)
