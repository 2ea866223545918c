"""CROSS_THREAD by order alone: the threads of a process as if they ran one at a time under the GIL."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import Events, is_passive
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Found, inferred_waits, make_edges, on_thread
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.mechanisms import SERIALISED

_CONFIDENCE = 0.5
"""Nothing in a trace proves the order."""


def serialised(context: Context, _: Found) -> Found:
    """Find edges to what a thread begins after a pause, from the last end on another thread during it.

    This is the rule of CTDA-CPA: all CPU activity of a process is ordered by its timestamps. Activity is an
    operator, a call or an innermost Python frame; an innermost annotation counts at its end, not at its
    beginning, since it may be waiting. Nothing in a trace proves such an order, so the confidence is 0.5.
    """
    stack = context.stack
    process_of = context.lanes.process[stack.piece_lane]
    begin_event, end_event = _active(context.events, stack)
    nothing = np.empty(0, dtype=np.int64)
    found: list[tuple[Ints, Ints, Ints, Ints, Ints]] = [(nothing,) * 5]
    for process in np.unique(process_of).tolist():
        mine = process_of == process
        begins, ends = (
            np.flatnonzero(mine & chosen[stack.piece_event]) for chosen in (begin_event, end_event)
        )
        if len(begins) and len(np.unique(stack.piece_lane[ends])) > 1:
            found.append(_last_ends(stack, begins, ends))
    by, left_at, to, since, begin = (np.concatenate(parts) for parts in zip(*found, strict=True))
    edges = make_edges(
        SERIALISED,
        on_thread(by, left_at),
        on_thread(to, begin),
        left_at,
        recorded=False,
        confidence=_CONFIDENCE,
    )
    return Found(edges, inferred_waits(SERIALISED, to, since, begin))


def _active(events: Events, stack: CallStack) -> tuple[Flags, Flags]:
    """Tell which events count at their beginning, and which at their end; both end with a False for -1."""
    innermost = np.ones(len(events) + 1, dtype=bool)
    innermost[stack.parent] = False
    innermost[-1] = False
    works = np.append(~is_passive(events), False)
    frame = np.append(events.of_role(Role.FRAME), False)
    return works | (innermost & frame), works | innermost


def _last_ends(stack: CallStack, begins: Ints, ends: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Find for what begins after a pause the last end elsewhere: its lane and time, lane, pause, begin."""
    begins = begins[np.lexsort((stack.piece_start[begins], stack.piece_lane[begins]))]
    lane, start, end = (column[begins] for column in (stack.piece_lane, stack.piece_start, stack.piece_end))
    ends = ends[np.argsort(stack.piece_end[ends], kind="stable")]
    other, ended = stack.piece_lane[ends], stack.piece_end[ends]
    first = np.append(True, lane[1:] != lane[:-1])
    since = np.where(first, min(int(start.min()), int(ended[0])) - 1, np.append(0, end[:-1]))
    last = np.searchsorted(ended, start, "right") - 1
    there = (last >= 0) & (start > since) & (other[last] != lane) & (ended[last] > since)
    last = last[there]
    return other[last], ended[last], lane[there], since[there], start[there]
