"""Stretches in which a thread did not run, as the system's scheduler recorded them."""

from dataclasses import replace

import numpy as np

from tracegraph.ingest.array_tables import expand_ranges, select_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.rules.context import Context, OffCpu
from tracegraph.ingest.causal.rules.edges import ASLEEP, OFF_CPU, UNEXPLAINED, Found, Waits
from tracegraph.ingest.intervals import Spans, covered


def recorded_turns(context: Context, found: Found) -> Found:
    """Find the stretches in which the system ran another thread, and the silences that are no work.

    The file holds when threads left a CPU and came back, and perhaps whether they could have gone on. If so,
    it was another thread's turn, whatever was open. Else a thread that has no event open did nothing; one
    that has keeps it, since what a call waits for is part of the call. What overlaps a known wait is
    explained already.
    """
    if not len(context.stated.off_cpu) or not len(context.stack.piece_start):
        return Found()
    lane, start, end, event, ready = _pieces(context.stack, context.stated.off_cpu, len(context.lanes.frame))
    told = select_rows(found.waits, found.waits.mechanism != UNEXPLAINED)
    free = covered(Spans(lane, start, end), Spans(told.lane, told.start, told.end)) == 0
    kind = np.where(ready, OFF_CPU, ASLEEP).astype(np.int64)
    waits = Waits(lane, start, end, event, kind, np.ones(len(lane), dtype=bool))
    return Found(waits=select_rows(waits, free & (ready | (event < 0))))


def _pieces(stack: CallStack, off: OffCpu, lanes: int) -> tuple[Ints, Ints, Ints, Ints, Flags]:
    """Cut the stretches where the innermost open event changes: lane, start, end, that event, and `ready`."""
    first_ns, last_ns = int(stack.piece_start.min()), int(stack.piece_end.max())
    off = select_rows(off, (off.start < last_ns) & (off.end > first_ns))
    off = replace(off, start=np.maximum(off.start, first_ns), end=np.minimum(off.end, last_ns))
    keys = Keys(first_ns, last_ns, lanes)
    begins, ends = keys.of(stack.piece_lane, stack.piece_start), keys.of(stack.piece_lane, stack.piece_end)
    first = np.searchsorted(ends, keys.of(off.lane, off.start), "right")
    until = np.searchsorted(begins, keys.of(off.lane, off.end), "left")
    number, piece = expand_ranges(first, np.maximum(until - first, 0))
    start = np.maximum(off.start[number], stack.piece_start[piece])
    end = np.minimum(off.end[number], stack.piece_end[piece])
    return off.lane[number], start, end, stack.piece_event[piece], off.ready[number]
