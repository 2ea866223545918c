"""Backward passes: when the autograd engine works on a thread of its own, and for which caller."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events, is_passive

_MOST_CALLERS = 16
"""A sequence number that operators of more threads carry does not show who called, and to pair all of them
would have no bound in memory. Chosen by eye: as many threads of one process may run one model; a larger one
costs more on files whose numbers say nothing."""


@dataclass(frozen=True)
class Passes:
    """One row per backward pass: engine lane, caller lane, first start and last end of its work there, ns."""

    engine: Ints
    caller: Ints
    begin: Ints
    end: Ints


def backward_links(events: Events, process: Ints) -> pd.DataFrame:
    """Pair forward and backward operators with one sequence number on two threads of a process.

    Forward operators carry forward thread 0 or none, backward ones a positive one. Files without these
    numbers may join the two by a flow.

    Returns
    -------
    pd.DataFrame
        Columns caller, engine (lanes), forward, backward (event indices).
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
    forward = forward[forward.groupby(["number", "process"])["lane"].transform("size") <= _MOST_CALLERS]
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


def find_passes(events: Events, stack: CallStack, process: Ints) -> Passes:
    """Find the backward passes of all threads.

    The caller is the thread that shares most sequence numbers with the engine.
    """
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
    return Passes(*columns)


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
    """Find where a pass begins: engine work up to 1 ms before its first linked operator belongs to it.

    Work before the pass's forward operator does not.
    """
    while first > 0 and start[first - 1] > forward and start[first] - end[first - 1] < 1_000_000:
        first -= 1
    return first
