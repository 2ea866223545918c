"""SYNCHRONIZATION GPU to CPU without a row: a thread is silent until GPU work ends, again and again."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracegraph.ingest.callstack import CallStack
from tracegraph.ingest.dependencies.edges import (
    Edges,
    Waits,
    inferred_waits,
    make_edges,
    on_gpu,
    on_thread,
)
from tracegraph.ingest.events import Events, Ints, is_passive
from tracegraph.ingest.launches import Streams

SHORTEST_SILENCE_NS = 100_000
_REACH_NS = 50_000
_LEAST_HITS = 3
_LEAST, _SURE = 0.6, 0.95
Shares = npt.NDArray[np.float64]
_COLUMNS = ("silence", "work", "lag", "chance", "kind")


def silent_waits(events: Events, stack: CallStack, streams: Streams) -> tuple[Edges, Waits]:
    """Edges from GPU work into silent stretches of threads that end just after it.

    A stretch of at least 100 µs in which a thread runs nothing but an annotation or a python frame may be a
    wait for a GPU event that no row tells of. Work that was enqueued before it and ended in its last 50 µs
    may have ended it: the last work of a stream, or any, where the event was recorded in between. One end
    proves nothing: stretches of one thread in one kind of event count together, and at least three must end
    so, far more than would by chance. The confidence is the share of them that chance leaves.
    """
    silences = _silences(events, stack)
    found = pd.concat(
        [
            _explained(_last_of_stream(events, streams, silences)),
            _explained(_any_of_stream(events, streams, silences)),
        ]
    )
    found = found.sort_values(["confidence", "lag"], ascending=[False, True], kind="stable")
    found = found.drop_duplicates("silence").sort_values("silence", kind="stable")
    work = found["work"].to_numpy(np.int64)
    mine = silences.iloc[found["silence"].to_numpy(np.int64)]
    lane, start = mine["lane"].to_numpy(np.int64), mine["start"].to_numpy(np.int64)
    edges = make_edges(
        "silent synchronize",
        on_gpu(events, work, at_end=True),
        on_thread(lane, events.end[work]),
        events.end[work],
        recorded=False,
        confidence=found["confidence"].to_numpy(np.float64),
    )
    return edges, inferred_waits("silent synchronize", lane, start, events.end[work])


def _silences(events: Events, stack: CallStack) -> pd.DataFrame:
    """Long stretches without an operator or a call: lane, start, end, kind (thread and innermost event)."""
    passive = np.append(is_passive(events), True)
    chosen = passive[stack.piece_event] & (stack.piece_end - stack.piece_start >= SHORTEST_SILENCE_NS)
    lane, event = stack.piece_lane[chosen], stack.piece_event[chosen]
    name = np.append(events.name.codes, -1)[event]
    return pd.DataFrame(
        {
            "lane": lane,
            "start": stack.piece_start[chosen],
            "end": stack.piece_end[chosen],
            "kind": pd.MultiIndex.from_arrays([lane, name]).factorize()[0],
        }
    )


def _last_of_stream(events: Events, streams: Streams, silences: pd.DataFrame) -> list[pd.DataFrame]:
    """For each stream the work enqueued last before each silence, where it ended in it."""
    start, end = silences["start"].to_numpy(np.int64), silences["end"].to_numpy(np.int64)
    parts = []
    for lane in streams.queue:
        work = streams.last_queued(lane, start)
        done = np.where(work >= 0, events.end[work], start)
        inside = np.flatnonzero((done > start) & (done <= end))
        chance = np.minimum(1, _REACH_NS / (end - start))[inside]
        parts.append(_candidates(inside, work[inside], (end - done)[inside], chance, silences))
    return parts


def _any_of_stream(events: Events, streams: Streams, silences: pd.DataFrame) -> list[pd.DataFrame]:
    """For each stream the last work to end in each silence, if it had been enqueued before."""
    start, end = silences["start"].to_numpy(np.int64), silences["end"].to_numpy(np.int64)
    parts = []
    for lane, work in streams.by_lane.items():
        ended = work[np.argsort(events.end[work], kind="stable")]
        queued = np.full(len(events), np.iinfo(np.int64).max)
        queued[streams.queue[lane]] = streams.queued_at[lane]
        first, last = (np.searchsorted(events.end[ended], at, "right") for at in (start, end))
        some = np.flatnonzero((last > first) & (queued[ended[np.maximum(last - 1, 0)]] < start))
        # Each end makes the moments just after it look like one that was waited for.
        chance = np.minimum(1, (last - first) * _REACH_NS / (end - start))[some]
        nearest = ended[last[some] - 1]
        parts.append(_candidates(some, nearest, end[some] - events.end[nearest], chance, silences))
    return parts


def _candidates(silence: Ints, work: Ints, lag: Ints, chance: Shares, of: pd.DataFrame) -> pd.DataFrame:
    columns = (silence, work, lag, chance, of["kind"].to_numpy(np.int64)[silence])
    return pd.DataFrame(dict(zip(_COLUMNS, columns, strict=True)))


def _explained(streams: list[pd.DataFrame]) -> pd.DataFrame:
    """Candidates within reach on streams whose ends explain enough silences of a kind, with a confidence."""
    parts = [pd.DataFrame({name: [] for name in (*_COLUMNS, "confidence")})]
    for found in streams:
        hit = found["lag"] <= _REACH_NS
        hits = hit.groupby(found["kind"]).transform("sum")
        expected = found["chance"].groupby(found["kind"]).transform("sum")
        confidence = _SURE * (1 - expected / hits.clip(lower=1))
        enough = hit & (hits >= _LEAST_HITS) & (confidence >= _LEAST)
        parts.append(found.assign(confidence=confidence)[enough])
    return pd.concat(parts)
