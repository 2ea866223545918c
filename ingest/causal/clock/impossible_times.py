"""Rows with impossible times: they end where the file proves that they had ended, or take no part."""

from dataclasses import replace

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.clock.impossible_work import (
    Ends,
    find_misplaced,
    find_outlasting,
    find_overrunning,
    no_ends,
)
from tracegraph.ingest.causal.events.callstack import CallStack, nest
from tracegraph.ingest.causal.events.events import Events, marks_step
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.launches.launches import match_launches, order_streams
from tracegraph.ingest.integrity_findings import Integrity, percent
from tracegraph.vocabulary.categories import Role

_MANY, _FEW = 3, 0.2
"""A call that holds `_MANY` operators cannot be right; if more than the share `_FEW` of a file's calls do so,
the file is of another kind than these rules know and stays as it is. Both were chosen by eye: one or two
operators may begin before a call's end by the noise of times, and damaged rows are few in a file."""
_FAR_NS, _FAR_TIMES, _NOISE_NS = 1_000_000, 3, 50_000
"""A row outlives another by far if it ends `_FAR_NS` plus `_FAR_TIMES` the other's length after it; a row
that begins in the last `_NOISE_NS` of another may begin after it, since starts and ends are noisy. Chosen by
eye: an operator may end a little after the annotation around it, and only what is far beyond is cut."""
_ROUNDS = 20
"""How often rows that outlive others are looked for at most: each cut may expose another, one level deeper.
It bounds the time for a damaged file; rows that are left after it keep their stated end."""
_CALLS = (
    "calls and operators cannot have lasted as long as the file says: they hold what their thread ran after "
    "them, or outlive what they run in by far; they end there"
)
_WORK = (
    "GPU rows cannot have lasted as long as the file says: they run on over later work of their stream, or "
    "past the return of a call that waited for them; they end where the file proves it"
)


def find_impossible_calls(events: Events) -> Ends:
    """Find calls into a runtime that hold operators of their thread, although a call runs none.

    Such a call had returned before the first of these began. Left alone are calls that hold fewer than three,
    or that return less than 1 ms after that moment; and files in which over a fifth of the calls hold three:
    their rows are not those of single threads.
    """
    calls = np.flatnonzero(events.of_role(Role.CALL) & events.on_thread)
    inner = np.flatnonzero(events.of_role(Role.OPERATOR) & events.on_thread)
    if not len(calls) or not len(inner):
        return no_ends()
    keys = _keys(events)
    begins = np.sort(keys.of(events.lane[inner], events.start[inner]))
    first = np.searchsorted(begins, keys.of(events.lane[calls], events.start[calls]), "right")
    last = np.searchsorted(begins, keys.of(events.lane[calls], events.end[calls]), "left")
    holds = last - first >= _MANY
    if not holds.any() or holds.mean() > _FEW:
        return no_ends()
    row, end = calls[holds], keys.time(begins[first[holds]])
    far = events.end[row] - end > _FAR_NS
    return Ends(row[far], end[far])


def find_outliving(events: Events, stack: CallStack) -> Ends:
    """Find calls and operators that outlive the operator or annotation that they begin in, by far.

    An inner row must end first. Left alone are rows that end less than three times the outer row's length and
    1 ms after it; rows that begin in its last 50 µs, since starts and ends are noisy; and files in which over
    a fifth of the rows outlive others.
    """
    inner = events.of_role(Role.CALL, Role.OPERATOR)
    mine = inner[stack.outliving]
    if not mine.any():
        return no_ends()
    of_steps = _outliving_steps(events, inner)
    row = np.concatenate([stack.outliving[mine], of_steps[0]])
    around = np.concatenate([stack.outlived[mine], of_steps[1]])
    beyond = events.end[row] - events.end[around]
    far = beyond > _FAR_NS + _FAR_TIMES * (events.end - events.start)[around]
    far &= events.end[around] - events.start[row] > _NOISE_NS
    far &= events.of_role(Role.OPERATOR, Role.ANNOTATION)[around]
    if int(mine.sum()) > _FEW * int((inner & events.on_thread).sum()):
        return no_ends()
    return no_ends().earliest(Ends(row[far], events.end[around[far]]))


def _outliving_steps(events: Events, inner: Flags) -> tuple[Ints, Ints]:
    """Find long rows that begin in a step of their thread, whatever else they begin in, and these steps."""
    steps = np.flatnonzero(marks_step(events) & events.on_thread)
    if not len(steps):
        return steps, steps
    keys = _keys(events)
    begins = keys.of(events.lane[steps], events.start[steps])
    steps, begins = steps[np.argsort(begins)], np.sort(begins)
    rows = np.flatnonzero(inner & events.on_thread & (events.end - events.start > _FAR_NS))
    place = np.searchsorted(begins, keys.of(events.lane[rows], events.start[rows]), "right") - 1
    mine = steps[np.maximum(place, 0)]
    inside = (place >= 0) & (events.lane[mine] == events.lane[rows])
    inside &= events.start[rows] < events.end[mine]
    return rows[inside], mine[inside]


def _keys(events: Events) -> Keys:
    on = events.on_thread
    return Keys(int(events.start[on].min()), int(events.end[on].max()), int(events.lane.max()) + 1)


def put_possible(events: Events, process: Ints, integrity: Integrity) -> Events:
    """Put impossible ends earlier; `Events.clipped` says by how much.

    GPU work that lies where it cannot have run, at a time that nothing proves, belongs to no lane's work from
    here on, and has no length.

    Parameters
    ----------
    process
        The number of the process of each lane.
    integrity
        Gets an error for each kind of row that was found.
    """
    events = _without_misplaced(events, integrity)
    calls = find_impossible_calls(events)
    if len(calls.row):
        events = _with_ends(events, calls)
        integrity.add("cpu_end_impossible", *_told(events, calls.row, events.on_thread, _CALLS))
    if not events.is_gpu.any():
        return events
    launches = match_launches(events)
    streams = order_streams(events, launches)
    overrunning = find_overrunning(events, launches, streams, process)
    work = overrunning.earliest(find_outlasting(events, launches, streams, process))
    if len(work.row):
        events = _with_ends(events, work)
        integrity.add("gpu_end_impossible", *_told(events, work.row, events.is_gpu, _WORK))
    return events


def nest_possible(events: Events, integrity: Integrity) -> tuple[Events, CallStack]:
    """Nest the events; calls and operators that outlive what they run in by far end with it.

    Inside such a row there may be another one, so the search is repeated until it finds none.
    """
    stack = nest(events)
    found = np.zeros(len(events), dtype=bool)
    for _ in range(_ROUNDS):
        outliving = find_outliving(events, stack)
        if not len(outliving.row):
            break
        found[outliving.row] = True
        events = _with_ends(events, outliving)
        stack = nest(events)
    if found.any():
        rows = np.flatnonzero(found)
        integrity.add("cpu_end_impossible", *_told(events, rows, events.on_thread, _CALLS))
    return events, stack


def _with_ends(events: Events, ends: Ends) -> Events:
    end, clipped = events.end.copy(), events.clipped.copy()
    end[ends.row] = ends.end
    clipped[ends.row] += events.end[ends.row] - ends.end
    return replace(events, end=end, clipped=clipped)


def _told(events: Events, rows: Ints, alike: Flags, what: str) -> tuple[int, str, float]:
    """Make count, message and share of a finding about rows whose ends were cut."""
    lasting = (events.end - events.start).astype(np.float64)
    share = float(lasting[rows].sum() / max(lasting[alike].sum(), 1.0))
    cut_s = float(events.clipped[rows].astype(np.float64).sum()) / 1e9
    message = (
        f"{what}, {cut_s:,.3f} s in all before their stated end; what is left of them is {percent(share)} of "
        f"the time of such rows; {_place(events, int(rows.min()))}"
    )
    return len(rows), message, share


def _without_misplaced(events: Events, integrity: Integrity) -> Events:
    launches = match_launches(events)
    found = np.flatnonzero(find_misplaced(events, launches))
    if not len(found):
        return events
    share = len(found) / max(int(events.is_gpu.sum()), 1)
    message = (
        f"GPU rows lie seconds from the call that launched them ({percent(share)} of the rows), where "
        "nothing else was recorded: when they ran is not known, and they take no part; "
        f"{_place(events, int(found[0]))}"
    )
    integrity.add("gpu_start_impossible", len(found), message, share)
    end, clipped, is_gpu = events.end.copy(), events.clipped.copy(), events.is_gpu.copy()
    clipped[found] = end[found] - events.start[found]
    end[found] = events.start[found]
    is_gpu[found] = False
    return replace(events, end=end, clipped=clipped, is_gpu=is_gpu)


def _place(events: Events, index: int) -> str:
    return f"first: traceEvents[{events.source_index[index]}] {events.name[index]!s:.60}"
