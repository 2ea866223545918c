"""CROSS_THREAD (rule 4): the backward pass runs on the autograd engine's thread while its caller waits."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.array_tables import join_rows, select_rows
from tracegraph.ingest.causal.callstack import CallStack
from tracegraph.ingest.causal.context import Context
from tracegraph.ingest.causal.edges import Waits, make_edges, on_thread
from tracegraph.ingest.causal.events import NONE, Events, is_passive
from tracegraph.ingest.causal.found import Found
from tracegraph.store.mechanisms import AUTOGRAD_HAND_OFF, AUTOGRAD_JOIN, CODE

_CONFIDENCE = 0.98


@dataclass(frozen=True)
class _Passes:
    """One row a backward pass: engine lane, caller lane, first start and last end of its work there."""

    engine: Ints
    caller: Ints
    begin: Ints
    end: Ints


def backward_links(events: Events, process: Ints) -> pd.DataFrame:
    """Pairs of a forward and a backward operator with one sequence number on two threads of a process.

    Columns caller, engine (lanes), forward, backward (event indices). Forward operators carry forward thread
    0 or none, backward ones a positive one. Files without these numbers may join the two by a flow.
    """
    ends = np.flatnonzero(events.forward_flow >= 0)
    if len(ends):
        begins = events.forward_flow[ends]
        lanes = {"caller": events.lane[begins], "engine": events.lane[ends]}
        flows = pd.DataFrame({**lanes, "forward": begins, "backward": ends})
        return flows[flows["caller"] != flows["engine"]]
    numbered = np.flatnonzero(events.on_thread & (events.sequence_number != NONE))
    frame = pd.DataFrame(
        {
            "event": numbered,
            "number": events.sequence_number[numbered],
            "lane": events.lane[numbered],
            "process": process[events.lane[numbered]],
            "start": events.start[numbered],
        }
    )
    is_backward = events.forward_thread[numbered] > 0
    forward = frame[~is_backward].drop_duplicates(["number", "lane"])
    pairs = frame[is_backward].merge(forward, on=["number", "process"], suffixes=("_b", "_f"))
    pairs = pairs[(pairs["lane_b"] != pairs["lane_f"]) & (pairs["start_f"] <= pairs["start_b"])]
    return pd.DataFrame(
        {
            "caller": pairs["lane_f"],
            "engine": pairs["lane_b"],
            "forward": pairs["event_f"],
            "backward": pairs["event_b"],
        }
    )


def _find_passes(events: Events, stack: CallStack, process: Ints) -> _Passes:
    links = backward_links(events, process)
    found: list[tuple[int, int, int, int]] = []
    for engine in sorted(set(links["engine"].tolist())):
        group = links[links["engine"] == engine]
        caller = int(np.bincount(group["caller"]).argmax())
        mine = group[group["caller"] == caller]
        forward_at = np.sort(events.start[mine["forward"].to_numpy()])
        linked = np.sort(events.start[mine["backward"].to_numpy()])
        found += _passes_of(events, stack, engine, caller, forward_at, linked)
    columns = np.array(found, dtype=np.int64).reshape(-1, 4).T
    return _Passes(*columns)


def _passes_of(
    events: Events, stack: CallStack, engine: int, caller: int, forward_at: Ints, linked: Ints
) -> list[tuple[int, int, int, int]]:
    """Split the engine's linked work where the caller ran forward operators in between."""
    generation = np.searchsorted(forward_at, linked)
    top = np.flatnonzero(stack.top_level(events) & (events.lane == engine))
    top = top[np.argsort(events.start[top], kind="stable")]
    start, end = events.start[top], np.maximum.accumulate(events.end[top])
    on_caller = np.flatnonzero((events.lane == caller) & events.on_thread & ~is_passive(events))
    resumes = np.sort(events.start[on_caller])
    passes = []
    numbers, begins = np.unique(generation, return_index=True)
    for number, members in zip(numbers.tolist(), np.split(linked, begins[1:]), strict=True):
        first = int(np.searchsorted(start, members[0], "right")) - 1
        last_linked = int(np.searchsorted(start, members[-1], "right")) - 1
        following = np.searchsorted(resumes, end[last_linked], "left")
        resumed = resumes[following] if following < len(resumes) else np.iinfo(np.int64).max
        last = int(np.searchsorted(start, resumed, "left")) - 1
        while last > last_linked and end[last] > resumed:
            last -= 1
        begin = _begin_of_burst(start, end, first, int(forward_at[number - 1]) if number else NONE)
        passes.append((engine, caller, int(start[begin]), int(end[last])))
    return passes


def _begin_of_burst(start: Ints, end: Ints, first: int, forward: int) -> int:
    """Work of the engine just before its first linked operator belongs to the pass."""
    while first > 0 and start[first - 1] > forward and start[first] - end[first - 1] < 1_000_000:
        first -= 1
    return first


def autograd(context: Context, _: Found) -> Found:
    """Hand-off where backward work appears on the engine's thread, join where its last work ends.

    The caller is the thread that shares sequence numbers with the engine. Between the two it waits wherever
    it runs no operator of its own; where an operator of the caller spans the join, nothing was waited for.
    """
    events, window_end = context.events, context.window.end
    passes = _find_passes(events, context.stack, context.lanes.process)
    last_on_lane = np.full(int(events.lane.max(initial=-1)) + 1, NONE, dtype=np.int64)
    np.maximum.at(last_on_lane, events.lane, events.end)
    joins = (passes.end < np.minimum(last_on_lane[passes.caller], window_end)) & ~_busy(events, passes)
    hand_off = make_edges(
        AUTOGRAD_HAND_OFF,
        on_thread(passes.caller, passes.begin),
        on_thread(passes.engine, passes.begin),
        passes.begin,
        recorded=False,
        confidence=_CONFIDENCE,
    )
    join = make_edges(
        AUTOGRAD_JOIN,
        on_thread(passes.engine, passes.end),
        on_thread(passes.caller, passes.end),
        passes.end,
        recorded=False,
        confidence=_CONFIDENCE,
    )
    join = select_rows(join, joins)
    return Found(join_rows([hand_off, join]), _waits(events, passes, joins))


def _busy(events: Events, passes: _Passes) -> Flags:
    """Whether an operator of the caller is open at the end of each pass."""
    works = events.on_thread & ~is_passive(events)
    busy = np.zeros(len(passes.end), dtype=bool)
    for caller in np.unique(passes.caller).tolist():
        mine = np.flatnonzero(works & (events.lane == caller))
        mine = mine[np.argsort(events.start[mine], kind="stable")]
        latest = np.append(NONE, np.maximum.accumulate(events.end[mine]))
        chosen = passes.caller == caller
        ends = passes.end[chosen]
        busy[chosen] = latest[np.searchsorted(events.start[mine], ends, "left")] > ends
    return busy


def _waits(events: Events, passes: _Passes, joins: Flags) -> Waits:
    """The caller's waiting for the join, and the engine's for the hand-off (from its last work before)."""
    count = len(passes.begin)
    idle_since = np.empty(count, dtype=np.int64)
    for engine in np.unique(passes.engine).tolist():
        ends = np.append(NONE, np.sort(events.end[events.lane == engine]))
        chosen = passes.engine == engine
        idle_since[chosen] = ends[np.searchsorted(ends, passes.begin[chosen], "right") - 1]
    both = Waits(
        lane=np.concatenate([passes.caller, passes.engine]),
        start=np.concatenate([passes.begin, idle_since]),
        end=np.concatenate([passes.end, passes.begin]),
        event=np.full(2 * count, -1, dtype=np.int64),
        mechanism=np.repeat([CODE[AUTOGRAD_JOIN], CODE[AUTOGRAD_HAND_OFF]], count),
        recorded=np.zeros(2 * count, dtype=bool),
    )
    keep = np.concatenate([joins, np.ones(count, dtype=bool)])
    return select_rows(both, keep)
