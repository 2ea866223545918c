"""SYNCHRONIZATION GPU to CPU inside an allocator, which frees what it cached once the GPU has used it."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE, is_call_named, is_passive
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.launches.launches import nearest_on_thread
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Found, inferred_waits, make_edges, on_gpu, on_thread
from tracegraph.ingest.causal.rules.repetition import REACH_NS
from tracegraph.ingest.causal.rules.threads.silence import SHORTEST_SILENCE_NS
from tracegraph.vocabulary.mechanisms import ALLOCATOR_FLUSH
from tracegraph.vocabulary.runtime_calls import ALLOCATE, FREE, WITHOUT_WAITING

_NEAR_NS, _EARLY_NS = REACH_NS[0], 20_000
"""How long before the first call that frees the awaited work may end, and how long after its start, since
clocks disagree. The second is a third of what `REACH_NS` allows after a stretch: chosen by eye, since here
one case is enough."""
_BETWEEN_NS = 50_000
"""How long after the call that allocates the silence must begin. Chosen by eye: a longer one would take code
that runs after the call for the wait."""
_SURE, _LEAST = 0.95, 0.6
"""The confidence before the share of chance is taken off, and the least that is given: once is enough.
Estimates: simulations have no case. The allocator of PyTorch always waits before it frees its cache, so that
chance takes less off than for other silences."""


def allocator_flush(context: Context, _: Found) -> Found:
    """Find edges from GPU work to the first call that gives memory back after an allocation failed.

    A caching allocator that gets no memory waits, by events without a row, until the GPU has used what it
    keeps for other streams; then it frees that and tries again. This has a pattern: a call that allocates, a
    silence of at least 100 µs in the same operator, then calls that free, several or one with another
    allocation behind it. The allocator waited for the work that had been enqueued before and ended last, at
    most 100 µs before the first of these calls (or 20 µs after its start, since clocks disagree). One such
    case is enough.
    """
    events, stack = context.events, context.stack
    flushes = _flushes(context)
    start, end = stack.piece_start[flushes], stack.piece_end[flushes]
    work, chance = _ended_last(context, start, end)
    flushes, work, chance = flushes[work >= 0], work[work >= 0], chance[work >= 0]
    lane, start, end = (a[flushes] for a in (stack.piece_lane, stack.piece_start, stack.piece_end))
    goes_on = np.minimum(events.end[work], end)
    edges = make_edges(
        ALLOCATOR_FLUSH,
        on_gpu(events, work, at_end=True),
        on_thread(lane, goes_on),
        goes_on,
        recorded=False,
        confidence=np.maximum(_SURE * (1 - chance), _LEAST),
    )
    event = stack.piece_event[flushes]
    inside = np.where(np.append(is_passive(events), True)[event], -1, event)
    return Found(edges, inferred_waits(ALLOCATOR_FLUSH, lane, start, goes_on, inside))


def _flushes(context: Context) -> Ints:
    """Find the pieces of the call stack between a call that allocates and the calls that free."""
    events, stack = context.events, context.stack
    counts = ~is_call_named(events, *WITHOUT_WAITING)
    allocations = np.flatnonzero(is_call_named(events, *ALLOCATE) & counts)
    frees = np.flatnonzero(is_call_named(events, *FREE) & counts)
    long = np.flatnonzero(stack.piece_end - stack.piece_start >= SHORTEST_SILENCE_NS)
    if not len(allocations) or not len(frees) or not len(long):
        return long[:0]
    keys = Keys(int(stack.piece_start.min()), int(stack.piece_end.max()), len(context.lanes.frame))
    begun = keys.of(events.lane[frees], events.start[frees])
    order = np.argsort(begun, kind="stable")
    frees, begun = frees[order], begun[order]
    ended = keys.of(stack.piece_lane[long], stack.piece_end[long])
    place = np.searchsorted(begun, ended)
    found = np.append(begun, NONE)[place] == ended
    long, free = long[found], frees[place[found]]
    before = np.append(allocations, -1)[nearest_on_thread(events, free, allocations, "backward")]
    after = np.append(allocations, -1)[nearest_on_thread(events, free, allocations, "forward")]
    again = np.append(frees, -1)[nearest_on_thread(events, free, frees, "forward")]
    failed = _same_parent(context, free, before)
    failed &= stack.piece_start[long] - events.end[before] <= _BETWEEN_NS
    several = _same_parent(context, free, after) | _same_parent(context, free, again)
    flushes: Ints = long[failed & several]
    return flushes


def _same_parent(context: Context, one: Ints, other: Ints) -> Flags:
    """Tell whether two events of a thread lie directly in the same one."""
    parent = context.stack.parent
    same: Flags = (other >= 0) & (parent[one] == parent[other])
    return same


def _ended_last(context: Context, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Find what ended last of the work enqueued before each stretch, and how likely chance puts it there."""
    events, streams = context.events, context.streams
    work, latest = np.full(len(start), -1, dtype=np.int64), np.full(len(start), NONE)
    ends = np.zeros(len(start), dtype=np.int64)
    for lane, queue in streams.queue.items():
        done, queued = events.end[queue], streams.queued_at[lane]
        for i, (since, until) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
            mine = (queued < since) & (done > since) & (done <= until + _EARLY_NS)
            ends[i] += int(mine.sum())
            near = queue[mine & (done >= until - _NEAR_NS) & (events.start[queue] < until)]
            if len(near) and int(events.end[near].max()) > latest[i]:
                work[i] = near[int(events.end[near].argmax())]
                latest[i] = int(events.end[work[i]])
    # The lag is taken 1 µs longer, so that a lag of 0 has a chance, too.
    chance = ends * (np.abs(end - latest) + 1_000) / (end - start)
    return work, np.where(work >= 0, np.minimum(chance, 1), 1.0)
