"""Long stretches of threads in which nothing more is recorded: waits without a row hide there."""

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import is_passive
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Waits
from tracegraph.ingest.causal.rules.threads.silence import SHORTEST_SILENCE_NS
from tracegraph.ingest.intervals import Spans, covered
from tracegraph.vocabulary.categories import Role

SILENCE_COLUMNS = ("lane", "event", "start", "end", "queued")


def find_silences(context: Context) -> pd.DataFrame:
    """Find stretches of at least 100 µs of a thread without an operator or a call.

    The stretch from the first event of the file to the first of a thread is one of them.

    Returns
    -------
    pd.DataFrame
        A row for each stretch: `lane`; `event`, the annotation or Python frame that is open, -1 for none;
        `start` and `end`, ns; `queued`: work that was enqueued before that moment may end the stretch.
    """
    stack, passive = context.stack, np.append(is_passive(context.events), True)
    lanes, begins = np.unique(stack.piece_lane, return_index=True)
    outer = np.full(len(lanes), -1), np.full(len(lanes), context.recording_start), stack.piece_start[begins]
    chosen = _long_and_passive(stack.piece_event, stack.piece_start, stack.piece_end, passive)
    also = _long_and_passive(*outer, passive)
    event, start, end = (
        np.append(column[chosen], one[also])
        for column, one in zip((stack.piece_event, stack.piece_start, stack.piece_end), outer, strict=True)
    )
    columns = (np.append(stack.piece_lane[chosen], lanes[also]), event, start, end, start)
    return pd.DataFrame(dict(zip(SILENCE_COLUMNS, columns, strict=True)))


def _long_and_passive(event: Ints, start: Ints, end: Ints, passive: Flags) -> Ints:
    return np.flatnonzero((end - start >= SHORTEST_SILENCE_NS) & passive[event])


def find_opaque(context: Context, known: Waits, shortest_ns: int = SHORTEST_SILENCE_NS) -> pd.DataFrame:
    """Find the same stretches of calls, operators and all else that works, in which one is innermost.

    Stretches in which a wait is known, and the profiler's own work, are left out. A call may wait for what it
    launches itself, so `queued` of a stretch with which a call begins is 1 ns after its start.
    """
    events, stack = context.events, context.stack
    works = ~is_passive(events) & ~events.of_role(Role.OVERHEAD)
    chosen = (stack.piece_end - stack.piece_start >= shortest_ns) & np.append(works, False)[stack.piece_event]
    places = np.flatnonzero(chosen)
    event, start = stack.piece_event[places], stack.piece_start[places]
    begins = events.of_role(Role.CALL)[event] & (start == events.start[event])
    columns = (stack.piece_lane[places], event, start, stack.piece_end[places], start + begins)
    return without_waits(pd.DataFrame(dict(zip(SILENCE_COLUMNS, columns, strict=True))), known)


def without_waits(stretches: pd.DataFrame, known: Waits) -> pd.DataFrame:
    """Keep the stretches in which no wait is known."""
    lane, start, end = (stretches[name].to_numpy(np.int64) for name in ("lane", "start", "end"))
    free = covered(Spans(lane, start, end), Spans(known.lane, known.start, known.end)) == 0
    found: pd.DataFrame = stretches[free].reset_index(drop=True)
    return found
