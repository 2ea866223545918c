"""CROSS_THREAD between two threads (rule 5): one is silent and goes on just after the other one ends."""

import numpy as np
import pandas as pd

from tracegraph.ingest.array_tables import expand_ranges
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.rules.coincidence import believe_pairs
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Edges, Found, inferred_waits, make_edges, on_thread
from tracegraph.ingest.causal.rules.threads.silence import SHORTEST_SILENCE_NS, Silence, find_silence
from tracegraph.vocabulary.mechanisms import AUTOGRAD_HAND_OFF, AUTOGRAD_JOIN, CODE, HAND_OVER, RESUME

SHORTEST_PAUSE_NS = 20_000
"""The shortest pause after which what a thread begins may have been handed over to it. Chosen by eye: a
thread of C++ pauses for less between two events of its own; repetition must show which of the longer pauses
of Python are waits."""
_PAUSES_NS = (0, SHORTEST_PAUSE_NS, SHORTEST_SILENCE_NS)
"""The kinds of signals: those that a pause of at least this length follows. Any, a pause, and one as long as
a silence (`SHORTEST_SILENCE_NS`): what ends before a long pause rather ends something that another thread
awaits."""
_WAKE_UP_NS, LONGEST_WAKE_UP_NS, TOLERANCE = 400_000, 1_000_000, 0.02
"""How long after a signal a silence may end: `_WAKE_UP_NS` (Python wakes a thread 250 to 300 µs late), or the
share `TOLERANCE` of a long silence up to `LONGEST_WAKE_UP_NS`. The bounds were chosen by eye: a larger one
lets chance fit more often."""
_TAKE_UP_NS = 200_000
"""How long after a thread began to wait another may begin what was handed over at that moment. Chosen by eye:
less than Python may take to wake a thread (`_WAKE_UP_NS`), since nothing but the moment joins the two
here."""
_SHARE_AWAITED, _SHARE_ACTIVE = 0.25, 0.25
"""Which share of a thread's events must be waited for, so that all that it begins after a pause counts as
handed over; and in which share of a stretch the awaited thread must be active. Both were chosen by eye: a
worker does other things, too, and is itself held at times; but a thread that mostly sleeps through a silence
is not what it waits for."""
_EXPLAINED = tuple(CODE[name] for name in (AUTOGRAD_HAND_OFF, AUTOGRAD_JOIN, HAND_OVER, RESUME))
_SURE, _HANDED, _LEAST, _FEW = 0.95, 0.6, 0.6, 0.5
"""Confidences: that of an end before the share of chance is taken off, that of a hand-over (an estimate), and
the least with which an end is believed. `_FEW` is added to the cases seen, so that few count for less."""


def resume(context: Context, found: Found) -> Found:
    """Find edges from an end on one thread into a silence of another that goes on just after it.

    Such an end is only believed for two threads of a process between which it happens far more often than
    by chance (see `believe_pairs`), and only if the other thread is not silent itself: it is active in at
    least a quarter of the stretch until that end. Of several ends the surest counts, then the last.

    If the other thread was in a pause of at least 20 µs when the stretch began, what it begins first was
    handed over at that moment by the thread that waits. If at least a quarter of a thread's events is waited
    for, what it begins after a pause elsewhere was handed over, too. Stretches around the hand-overs of
    autograd are left alone.
    """
    if not context.lanes.is_thread.any():
        return Found()
    silence = find_silence(context.events, context.stack, context.lanes, context.launches)
    stretches = silence.stretches
    near = _signals_near(stretches, silence)
    near = believe_pairs(near, stretches, _count_signals(silence), silence.bounds)
    ends = _best_ends(_of_callers(near, silence), _unexplained(stretches, found.edges), silence)
    ends = _first_begins(ends, silence)
    inside = ends[ends["began"] > ends["start"]]
    rest = _hand_overs(_top_level(context.events, context.stack), ends)
    return _all_edges(ends, _handed_inside(inside, near), rest)


def _count_signals(silence: Silence) -> Ints:
    """Count the signals, by kind and lane."""
    by, pause = silence.signals["by"].to_numpy(), silence.signals["pause"].to_numpy()
    count = len(silence.process)
    return np.array(
        [np.bincount(by[pause >= least], minlength=count) for least in _PAUSES_NS], dtype=np.int64
    )


def _of_callers(near: pd.DataFrame, silence: Silence) -> pd.DataFrame:
    """Keep, of two threads that take turns, only the rows in which the caller waits, not the worker.

    The caller is the one that is more often inside an annotation or a frame while it is silent, else the one
    that began first: a worker's pauses end with what is handed over to it.
    """
    stretches = silence.stretches
    inside = (stretches["inside"] & ~stretches["leaf"]).groupby(stretches["lane"]).mean()
    lane, by = near["lane"].to_numpy(np.int64), near["by"].to_numpy(np.int64)
    open_share = [inside.reindex(lanes).fillna(0.0).to_numpy().round(1) for lanes in (lane, by)]
    first = silence.bounds[0]
    calls = (open_share[0] > open_share[1]) | ((open_share[0] == open_share[1]) & (first[lane] <= first[by]))
    mutual = pd.MultiIndex.from_arrays([by, lane]).isin(pd.MultiIndex.from_arrays([lane, by]))
    callers: pd.DataFrame = near[calls | ~mutual]
    return callers


def _signals_near(stretches: pd.DataFrame, silence: Silence) -> pd.DataFrame:
    """Find the last signals of other threads of the process shortly before each stretch ends.

    There is one for each thread and kind: signals that a pause of at least 0, 20 and 100 µs follows. Shortly
    before means within a third of the stretch and at most 400 µs, or 2 % of a long one, at most 1 ms: Python
    wakes a thread 250 to 300 µs late.
    """
    longest = (TOLERANCE * stretches["length"]).clip(_WAKE_UP_NS, LONGEST_WAKE_UP_NS)
    reach = np.minimum(longest, stretches["length"] / 3).astype(np.int64)
    signals = silence.signals.sort_values("cut", kind="stable", ignore_index=True)
    cut, by = signals["cut"].to_numpy(), signals["by"].to_numpy()
    end = stretches["end"].to_numpy()
    first = np.searchsorted(cut, end - reach, "right")
    count = np.searchsorted(cut, end, "right") - first
    row, signal = expand_ranges(first, count)
    lane = stretches["lane"].to_numpy()[row]
    other = (lane != by[signal]) & (silence.process[lane] == silence.process[by[signal]])
    row, signal = row[other], signal[other]
    columns = {"row": row, "by": by[signal], "cut": cut[signal], "pause": signals["pause"].to_numpy()[signal]}
    frame = pd.DataFrame(columns)
    kinds = [
        frame[frame["pause"] >= pause].drop_duplicates(["row", "by"], keep="last").assign(kind=kind)
        for kind, pause in enumerate(_PAUSES_NS)
    ]
    near = pd.concat(kinds, ignore_index=True)
    near = near.join(stretches[["lane", "start", "end", "length"]], on="row")
    return near.assign(lag=near["end"] - near["cut"])


def _unexplained(stretches: pd.DataFrame, known: Edges) -> "pd.Series[bool]":
    """Tell in which stretches neither autograd nor a collective starts the thread."""
    order = stretches.reset_index(names="row").sort_values("end", kind="stable")
    handed = np.isin(known.mechanism, _EXPLAINED)
    moments = pd.DataFrame({"lane": known.effect_lane[handed], "moment": known.effect_time[handed]})
    moments = moments.sort_values("moment")
    latest = pd.merge_asof(order, moments, left_on="end", right_on="moment", by="lane").set_index("row")
    return ~(latest["moment"] >= latest["start"]).sort_index()


def _best_ends(near: pd.DataFrame, wanted: "pd.Series[bool]", silence: Silence) -> pd.DataFrame:
    """Find for each stretch the end that explains it best: lane, start, end, by, cut, confidence."""
    found = near[wanted.reindex(near["row"]).to_numpy(bool)]
    found = found.assign(confidence=_SURE * found["share"] * found["seen"] / (found["seen"] + _FEW))
    by, start, cut = (found[name].to_numpy(np.int64) for name in ("by", "start", "cut"))
    is_active = silence.active_share(by, start, cut) >= _SHARE_ACTIVE
    found = found[(found["confidence"] >= _LEAST) & is_active]
    found = found.assign(sure=found["confidence"].round(1))
    found = found.sort_values(["lane", "start", "sure", "cut", "by"])
    return found.drop_duplicates(["lane", "start"], keep="last")


def _first_begins(found: pd.DataFrame, silence: Silence) -> pd.DataFrame:
    """Add `began`: when `by` first begins something in the stretch after a pause, else when that starts."""
    by, start, cut = (found[name].to_numpy(np.int64) for name in ("by", "start", "cut"))
    since, until = silence.pause_at(by, start)
    handed = (until - since >= SHORTEST_PAUSE_NS) & (until < cut)
    return found.assign(began=np.where(handed, until, start), idle_since=since)


def _handed_inside(found: pd.DataFrame, near: pd.DataFrame) -> pd.DataFrame:
    """List what a thread begins in a stretch that ends with it, in the columns that `_found` takes."""
    usual = near.groupby(["lane", "by"])["share"].max()
    share = usual.reindex(pd.MultiIndex.from_frame(found[["by", "lane"]])).fillna(0.0).to_numpy()
    columns = {"lane": found["by"], "start": found["idle_since"], "cut": found["began"], "by": found["lane"]}
    frame = pd.DataFrame({**columns, "left_at": found["began"]})
    return frame.assign(confidence=np.maximum(_HANDED, np.minimum(_SURE * share, found["confidence"])))


def _hand_overs(top: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """List what an awaited thread begins after a pause, except in stretches that end with itself.

    It is handed over by the thread that waits for it most: at that moment, or when that thread began to wait
    for another one, if that was at most 200 µs earlier.
    """
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
        nap_start, nap_end, nap_by = (np.append(naps[name], NONE)[inside] for name in ("start", "cut", "by"))
        waiting = (inside >= 0) & (begins <= nap_end)
        left_at = np.where(waiting, nap_start, begins)
        handed = (pause <= begins - SHORTEST_PAUSE_NS) & (left_at >= begins - _TAKE_UP_NS)
        handed &= (left_at <= last_end.get(waiter, NONE)) & ~(waiting & (nap_by == worker))
        columns = {"lane": worker, "start": pause, "cut": begins, "left_at": left_at, "by": waiter}
        parts.append(pd.DataFrame(columns)[handed])
    return pd.concat(parts).assign(confidence=_HANDED)


def _top_level(events: Events, stack: CallStack) -> pd.DataFrame:
    """List the events that last and are inside no other: by (their lane), begin, cut (their end)."""
    top = np.flatnonzero(stack.top_level(events) & (events.end > events.start))
    return pd.DataFrame({"by": events.lane[top], "begin": events.start[top], "cut": events.end[top]})


def _all_edges(ends: pd.DataFrame, *handed: pd.DataFrame) -> Found:
    """Make the edges and waits of stretches that another thread ends, and of what was handed over to it."""
    back = ends.assign(start=ends["began"], left_at=ends["cut"])
    found = _found(RESUME, back)
    for frame in handed:
        found = found.plus(_found(HAND_OVER, frame))
    return found


def _found(mechanism: str, ends: pd.DataFrame) -> Found:
    """Make edges from lane `by` at `left_at` to `lane` at `cut`, which waited from `start` until then."""
    names = ("by", "left_at", "lane", "start", "cut")
    by, left_at, lane, start, cut = (ends[name].to_numpy(np.int64) for name in names)
    edges = make_edges(
        mechanism,
        on_thread(by, left_at),
        on_thread(lane, cut),
        left_at,
        recorded=False,
        confidence=ends["confidence"].to_numpy(np.float64),
    )
    return Found(edges, inferred_waits(mechanism, lane, start, cut))
