"""CROSS_THREAD by order alone: all threads of a process as if they ran one after the other under the GIL."""

import numpy as np
import pandas as pd

from tracegraph.ingest.callstack import CallStack
from tracegraph.ingest.dependencies.edges import Edges, Waits, inferred_waits, make_edges, on_thread
from tracegraph.ingest.events import Events, Ints, Lanes, is_passive

_CONFIDENCE = 0.5


def serialised(events: Events, stack: CallStack, lanes: Lanes) -> tuple[Edges, Waits]:
    """Edges to what a thread begins after a pause, from what ended last on another thread during the pause.

    The rule of CTDA-CPA: all CPU activity of a process is ordered by its timestamps. A thread pauses where no
    operator or call is open on it; annotations and python frames do not count. Nothing in a trace proves such
    an order, so the confidence is 0.5 throughout.
    """
    active = np.flatnonzero(np.append(~is_passive(events), False)[stack.piece_event])
    lane, start, end = stack.piece_lane[active], stack.piece_start[active], stack.piece_end[active]
    pid = pd.factorize(lanes.frame["pid"])[0]
    nothing = np.empty(0, dtype=np.int64)
    found: list[tuple[Ints, Ints, Ints, Ints, Ints]] = [(nothing,) * 5]
    for process in np.unique(pid[lane]).tolist():
        mine = pid[lane] == process
        if len(np.unique(lane[mine])) > 1:
            found.append(_last_ends(lane[mine], start[mine], end[mine]))
    by, left_at, to, since, begin = (np.concatenate(parts) for parts in zip(*found, strict=True))
    edges = make_edges(
        "serialised",
        on_thread(by, left_at),
        on_thread(to, begin),
        left_at,
        recorded=False,
        confidence=_CONFIDENCE,
    )
    return edges, inferred_waits("serialised", to, since, begin)


def _last_ends(lane: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """For what begins after a pause: lane and time of the last end elsewhere in it, lane, pause, begin."""
    order = np.lexsort((start, lane))
    lane, start, end = lane[order], start[order], end[order]
    pauses = np.append(False, (lane[1:] == lane[:-1]) & (start[1:] > end[:-1]))
    first_of_lane = np.append(True, lane[1:] != lane[:-1])[: len(lane)]
    since = np.where(first_of_lane, np.iinfo(np.int64).min, np.append(0, end[:-1])[: len(lane)])
    begins = np.flatnonzero(pauses | first_of_lane)
    by_end = np.argsort(end, kind="stable")
    last = np.searchsorted(end[by_end], start[begins], "right") - 1
    cause = by_end[np.maximum(last, 0)]
    there = (last >= 0) & (lane[cause] != lane[begins]) & (end[cause] > since[begins])
    begins, cause = begins[there], cause[there]
    paused = np.maximum(since[begins], start.min(initial=0))
    return lane[cause], end[cause], lane[begins], paused, start[begins]
