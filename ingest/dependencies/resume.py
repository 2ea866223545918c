"""CROSS_THREAD between any two threads (rule 5): one waits, and goes on just after the other's event ends."""

import numpy as np
import pandas as pd

from tracegraph.ingest.callstack import CallStack
from tracegraph.ingest.dependencies.edges import (
    Edges,
    Waits,
    inferred_waits,
    make_edges,
    on_thread,
)
from tracegraph.ingest.events import NONE, Events, Ints, Lanes, is_passive
from tracegraph.ingest.rows import join_rows

SHORTEST_WAIT_NS = 100_000
SHORTEST_PAUSE_NS = 20_000
_WAKE_UP_NS = (30_000, 200_000)
_TAKE_UP_NS = 200_000
_SHARE_AWAITED = 0.25
_TOLERANCE = 0.02
_SURE, _HANDED, _LEAST = 0.95, 0.6, 0.6


def resume(
    events: Events, stack: CallStack, lanes: Lanes, explained: tuple[Ints, Ints]
) -> tuple[Edges, Waits]:
    """Edges from the end of another thread's event into a stretch that ends just after it.

    A stretch may wait where no operator is open: the self time of an annotation or a python frame, or a gap
    between events. It is taken to have waited for the last event outside all others, on another thread of its
    process, that ended in it and shortly before its end: 2 % of it, at least 30 µs and at most 200 µs. How
    likely such an end is by chance, where that thread ends events often, lowers the confidence; below 0.6 no
    edge is made.
    Where at least a quarter of a thread's events was waited for like this, what it begins after a pause was
    handed over by the thread that waits for it: at that moment, or where that one began to wait if that was
    at most 200 µs earlier.
    `explained`: lanes and times at which another rule starts a thread; stretches around them are left alone.
    """
    ends = _top_level(events, stack, lanes)
    found = _last_end_inside(_waiting_pieces(events, stack, explained), ends, lanes)
    handed = _hand_overs(ends, found)
    back = _edges("resume", found.assign(left_at=found["cut"]), found["confidence"])
    there = _edges("hand-over", handed, _HANDED)
    return join_rows([back[0], there[0]]), join_rows([back[1], there[1]])


def _edges(
    mechanism: str, found: pd.DataFrame, confidence: "pd.Series[float] | float"
) -> tuple[Edges, Waits]:
    """Edges from lane `by` at `left_at` to `lane` at `cut`, which waited from `start` until then."""
    names = ("by", "left_at", "lane", "start", "cut")
    by, left_at, lane, start, cut = (found[name].to_numpy(np.int64) for name in names)
    edges = make_edges(
        mechanism,
        on_thread(by, left_at),
        on_thread(lane, cut),
        left_at,
        recorded=False,
        confidence=np.asarray(confidence, dtype=np.float64),
    )
    return edges, inferred_waits(mechanism, lane, start, cut)


def _hand_overs(top: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """What a thread that is waited for begins after a pause: lane, start of the pause, cut, left_at, by."""
    names = ("lane", "start", "cut", "left_at", "by")
    parts = [pd.DataFrame({name: [] for name in names}, dtype=np.int64)]
    awaited, events = found["by"].value_counts(), top["by"].value_counts()
    workers = awaited[awaited >= _SHARE_AWAITED * events.reindex(awaited.index)].index
    begun = top.sort_values("begin", kind="stable").groupby("by")
    asleep = found.sort_values("start", kind="stable").groupby("lane")
    last_end = top.groupby("by")["cut"].max()
    for worker, waits in found[found["by"].isin(workers)].groupby("by"):
        waiter = int(np.bincount(waits["lane"]).argmax())
        mine, naps = begun.get_group(worker), asleep.get_group(waiter)
        begins = mine["begin"].to_numpy()
        pause = np.append(NONE, np.maximum.accumulate(mine["cut"].to_numpy())[:-1])
        inside = np.searchsorted(naps["start"], begins, "right") - 1
        waiting = (inside >= 0) & (begins <= np.append(naps["cut"], NONE)[inside])
        left_at = np.where(waiting, np.append(naps["start"], NONE)[inside], begins)
        handed = (pause <= begins - SHORTEST_PAUSE_NS) & (left_at >= begins - _TAKE_UP_NS)
        handed &= left_at <= last_end.get(waiter, NONE)
        columns = {"lane": worker, "start": pause, "cut": begins, "left_at": left_at, "by": waiter}
        parts.append(pd.DataFrame(columns)[handed])
    return pd.concat(parts)


def _waiting_pieces(events: Events, stack: CallStack, explained: tuple[Ints, Ints]) -> pd.DataFrame:
    """Stretches that may wait: lane, start, end; those in which another rule starts the thread left out."""
    passive = np.append(is_passive(events), True)
    long_enough = stack.piece_end - stack.piece_start >= SHORTEST_WAIT_NS
    columns = {"lane": stack.piece_lane, "start": stack.piece_start, "end": stack.piece_end}
    chosen = passive[stack.piece_event] & long_enough
    pieces = pd.DataFrame({name: column[chosen] for name, column in columns.items()}).sort_values("start")
    moments = pd.DataFrame({"lane": explained[0], "moment": explained[1]}).sort_values("moment")
    latest = pd.merge_asof(pieces.sort_values("end"), moments, left_on="end", right_on="moment", by="lane")
    return latest[~(latest["moment"] >= latest["start"])].drop(columns="moment")


def _top_level(events: Events, stack: CallStack, lanes: Lanes) -> pd.DataFrame:
    """Events outside all others, by their end: by (lane), pid, begin, cut, time since the end before."""
    top = np.flatnonzero(stack.top_level(events) & (events.end > events.start))
    columns = {"by": events.lane[top], "begin": events.start[top], "cut": events.end[top]}
    frame = pd.DataFrame(columns).sort_values(["by", "cut"])
    since = frame["cut"] - frame.groupby("by")["cut"].shift()
    pid = lanes.frame["pid"].to_numpy()
    since = since.fillna(frame["cut"] - frame["begin"])
    return frame.assign(since=since, pid=pid[frame["by"]]).sort_values("cut")


def _last_end_inside(pieces: pd.DataFrame, ends: pd.DataFrame, lanes: Lanes) -> pd.DataFrame:
    """For each stretch the last end on another thread that explains it well enough, with its confidence."""
    reach = (_TOLERANCE * (pieces["end"] - pieces["start"])).clip(*_WAKE_UP_NS).astype(np.int64)
    pid = lanes.frame["pid"].to_numpy()[pieces["lane"]]
    pieces = pieces.assign(reach=reach, pid=pid).reset_index(drop=True)
    cut = ends["cut"].to_numpy()
    first = np.searchsorted(cut, np.maximum(pieces["end"] - pieces["reach"], pieces["start"] + 1), "left")
    count = np.maximum(np.searchsorted(cut, pieces["end"], "left") - first, 0)
    # Every end within reach of every stretch: at most 200 µs of ends each.
    piece = np.repeat(np.arange(len(pieces)), count)
    end = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    found = pieces.iloc[piece].reset_index(drop=True)
    found = found.join(ends.iloc[end].reset_index(drop=True).rename(columns={"pid": "pid_of_end"}))
    found = found[(found["lane"] != found["by"]) & (found["pid"] == found["pid_of_end"])]
    chance = np.minimum(1.0, found["reach"] / found["since"].clip(lower=1))
    found = found.assign(confidence=_SURE * (1 - chance)).sort_values(["lane", "start", "cut", "by"])
    return found[found["confidence"] >= _LEAST].drop_duplicates(["lane", "start"], keep="last")
