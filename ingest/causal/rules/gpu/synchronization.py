"""SYNCHRONIZATION GPU to CPU (rule 2): a blocking call waits for work on the GPU."""

from dataclasses import replace

import numpy as np
import pandas as pd

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.launches.awaited_work import SLIGHT, HostWaits, late_ends
from tracegraph.ingest.causal.launches.launches import LONGEST_LAUNCH_NS
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Found, Waits, make_edges, on_gpu, on_thread
from tracegraph.vocabulary.mechanisms import (
    BLOCKING_COPY,
    CODE,
    DEVICE_SYNCHRONIZE,
    EVENT_SYNCHRONIZE,
    IMPLICIT_SYNCHRONIZE,
    MECHANISMS,
    STREAM_SYNCHRONIZE,
)

_LOW, _ENOUGH_RETURNS = 0.05, 12
"""The quantile of returns that is taken for the usual one, and how many returns it needs. Low, since waits
only lengthen it, as in `launches`; of a dozen it is one of the two shortest."""


def synchronization(context: Context, _: Found) -> Found:
    """Find edges from awaited work into the call that waits, and the stretches in which it waits.

    The call is cut where the last of its awaited work ends: before, it waits; after, it works. A call that
    waits for its own work first launches it, and works until the launch has left it. The time that every
    return takes at least after that end is waiting, too: for the news. Work that ended before the call, or
    clearly after its return, does not hold it; the former gets an edge to the call's start.
    """
    events, waits = context.events, _in_time(context, context.host_waits)
    awaited = np.clip(events.end[waits.work], events.start[waits.call], events.end[waits.call])
    released = pd.Series(awaited).groupby(waits.call).transform("max").to_numpy(dtype=np.int64)
    done, held = released, released > events.start[waits.call]
    news = np.where(held, _wake_up(events.end[waits.call] - done, waits.mechanism, held), 0)
    # A wait ends with its call: an edge behind the return would leave what follows the return to the call.
    released = np.minimum(done + news, np.maximum(events.end[waits.call], done))
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


def _in_time(context: Context, waits: HostWaits) -> HostWaits:
    """Keep the waits whose work ended by the return, or so little after it that clocks explain it.

    If clocks put all of that work behind the return of a call that lasts far longer, the call waited for its
    stream all the same: then for the work there that had begun.
    """
    events = context.events
    back = events.end[waits.call]
    overrun = events.end[waits.work] - back
    late = late_ends(events, waits.call, context.clock.moves(back))
    behind = (overrun > 0) & (events.start[waits.work] >= back)
    long = overrun * SLIGHT <= back - events.start[waits.call]
    work = np.where(behind & long, _begun(context, waits.work, back), waits.work)
    overrun = events.end[work] - back
    keep = (work >= 0) & (overrun <= np.where(behind & ~long, 0, late))
    return select_rows(replace(waits, work=work), keep)


def _begun(context: Context, work: Ints, by: Ints) -> Ints:
    """Find the last work that began before each time on the stream of each work, -1 for none."""
    events, found = context.events, np.full(len(work), -1, dtype=np.int64)
    for lane, queue in context.streams.by_lane.items():
        mine = events.lane[work] == lane
        found[mine] = np.append(queue, -1)[np.searchsorted(events.start[queue], by[mine], "left") - 1]
    return found


def _wake_up(after: Ints, mechanism: Ints, held: Flags) -> Ints:
    """Estimate how long the news of an end takes at least, by rule, ns; 0 if few returns were seen.

    That is two thirds of a low quantile of `after`; the rest is the call's own return.
    """
    if held.sum() < _ENOUGH_RETURNS:
        return np.zeros(len(after), dtype=np.int64)
    usual = np.full(len(MECHANISMS), np.quantile(after[held], _LOW), dtype=np.int64)
    for code in np.unique(mechanism[held]).tolist():
        mine = after[held & (mechanism == code)]
        if len(mine) >= _ENOUGH_RETURNS:
            usual[code] = np.quantile(mine, _LOW)
    return np.minimum(usual[mechanism] * 2 // 3, LONGEST_LAUNCH_NS)
