"""Finds stretches of threads beside a busy GPU that may be work or a wait: nothing shows which."""

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE, is_passive
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import UNEXPLAINED, Found, Waits
from tracegraph.ingest.causal.rules.repetition import reach
from tracegraph.ingest.causal.rules.silent_stretches import find_opaque, find_silences, without_waits
from tracegraph.ingest.intervals import covered, ungrouped

_BUSY, _UNLAUNCHED = 0.9, 0.5
"""In which share of a stretch the GPU must be busy; and which share of the GPU's time must have no call for
its launching thread to count as not recorded. A half is the majority. The first is that of gaps (`_BUSY` of
`gaps`), chosen by eye: devices pause between two of their kernels."""


def opaque_waits(context: Context, found: Found) -> Found:
    """Find stretches without a known wait in which the GPU worked nearly throughout: they may wait for it.

    At least 100 µs of a call, an operator, or of an annotation or Python frame itself count if all work
    enqueued before ends about when they do, near enough for `silent_waits`. A stretch that ends at another
    moment waited for none of it, and while more is enqueued, the GPU does not wait for the thread. If most
    of the file's GPU work has no call, neither the thread that launched it nor the moment is recorded: then
    any such stretch may wait, silence included.
    """
    silences = without_waits(find_silences(context), found.waits)
    stretches = pd.concat([find_opaque(context, found.waits), silences], ignore_index=True)
    if not _launched_elsewhere(context):
        stretches = stretches[_drained(context, stretches) & (stretches["event"] >= 0)]
    stretches = stretches[_busy(context, stretches)]
    lane, event, start, end = (
        stretches[name].to_numpy(np.int64) for name in ("lane", "event", "start", "end")
    )
    inside = np.where(np.append(is_passive(context.events), True)[event], -1, event)
    none = np.full(len(lane), UNEXPLAINED, dtype=np.int64)
    return Found(waits=Waits(lane, start, end, inside, none, np.zeros(len(lane), dtype=bool)))


def _drained(context: Context, stretches: pd.DataFrame) -> Flags:
    """Tell for which stretches all work enqueued before them ends about when they do.

    Only work of the stretch's process counts, and work whose process is not known.
    """
    events, streams, process = context.events, context.streams, context.lanes.process
    call = context.launches.call
    owner = np.where(call >= 0, process[events.lane[call]], NONE)
    mine = process[stretches["lane"].to_numpy(np.int64)]
    start, end, queued = (stretches[name].to_numpy(np.int64) for name in ("start", "end", "queued"))
    done = np.full(len(stretches), NONE)
    for one in np.unique(mine).tolist():
        of_one = mine == one
        for lane, queue in streams.queue.items():
            counted = (owner[queue] == one) | (owner[queue] == NONE)
            ends = np.append(np.maximum.accumulate(np.where(counted, events.end[queue], NONE)), NONE)
            last = ends[np.searchsorted(streams.queued_at[lane], queued[of_one], "left") - 1]
            done[of_one] = np.maximum(done[of_one], last)
    before, after = reach(end - start)
    drained: Flags = (done > start) & (done >= end - before) & (done <= end + after)
    return drained


def _launched_elsewhere(context: Context) -> bool:
    """Tell whether most of the GPU's work has no call, although the file joins work with calls."""
    events = context.events
    work = np.flatnonzero(events.is_gpu)
    length: Ints = events.end[work] - events.start[work]
    alone = int(length[context.launches.call[work] < 0].sum())
    return not any(doubts.unjoined for doubts in context.doubts) and alone > _UNLAUNCHED * int(length.sum())


def _busy(context: Context, stretches: pd.DataFrame) -> Flags:
    """Tell in which stretches the GPU ran something nearly throughout."""
    events = context.events
    start, end = (stretches[name].to_numpy(np.int64) for name in ("start", "end"))
    work = ungrouped(events.start[events.is_gpu], events.end[events.is_gpu])
    busy: Flags = covered(ungrouped(start, end), work) >= _BUSY * (end - start)
    return busy
