"""SYNCHRONIZATION GPU to CPU without a row: a thread is silent until GPU work ends, again and again."""

from collections import Counter

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Floats, Ints
from tracegraph.ingest.causal.array_tables import expand_ranges
from tracegraph.ingest.causal.context import Context
from tracegraph.ingest.causal.edges import inferred_waits, make_edges, on_gpu, on_thread
from tracegraph.ingest.causal.events import NONE, Events, is_passive
from tracegraph.ingest.causal.found import Found
from tracegraph.ingest.causal.launches import Launches, Streams
from tracegraph.ingest.causal.rules.coincidence import by_chance
from tracegraph.ingest.causal.rules.silence import SHORTEST_SILENCE_NS
from tracegraph.store.mechanisms import SILENT_SYNCHRONIZE

_BEFORE_NS, _AFTER_NS = 100_000, 60_000
"""How long before the end of a silence work may end that explains it, and after it, where clocks disagree."""
_ALIKE_NS = 40_000
_LAGS = (_BEFORE_NS + _AFTER_NS) / _ALIKE_NS
"""How many lags there are with which silences may end alike."""
_LEAST_HITS = 3
_CHANCE, _SURE, _LEAST = 0.05, 0.95, 0.6
_COLUMNS = ("silence", "work", "lag", "chance", "kind")


def silent_waits(context: Context, _: Found) -> Found:
    """Edges from GPU work into silent stretches of threads that end just after it.

    A stretch of at least 100 µs in which a thread runs nothing but an annotation or a python frame may be a
    wait for a GPU event that no row tells of. Work that was enqueued before it and ended up to 100 µs before
    its end may have ended it (up to 60 µs after, as clocks disagree): the last work of a stream, or any,
    where the event was recorded in between. One end proves nothing: stretches of one thread, one kind of
    event and one order of magnitude count together, and at least three must end alike, within 40 µs of the
    same lag, far more than would by chance (Poisson). The confidence is the share that chance leaves. Where
    the recording begins in the middle of a wait, one end is all there is: of work from before the recording.
    """
    events, launches, streams = context.events, context.launches, context.streams
    silences = _silences(context)
    found = pd.concat(
        [
            _explained(_last_of_stream(events, streams, silences)),
            _explained(_any_of_stream(events, launches, streams, silences)),
            _opening(context, silences),
        ]
    )
    found = found.sort_values(["confidence", "lag"], ascending=[False, True], kind="stable")
    found = found.drop_duplicates("silence").sort_values("silence", kind="stable")
    work = found["work"].to_numpy(np.int64)
    mine = silences.iloc[found["silence"].to_numpy(np.int64)]
    lane, start = mine["lane"].to_numpy(np.int64), mine["start"].to_numpy(np.int64)
    goes_on = np.minimum(events.end[work], mine["end"].to_numpy(np.int64))
    edges = make_edges(
        SILENT_SYNCHRONIZE,
        on_gpu(events, work, at_end=True),
        on_thread(lane, goes_on),
        goes_on,
        recorded=False,
        confidence=found["confidence"].to_numpy(np.float64),
    )
    return Found(edges, inferred_waits(SILENT_SYNCHRONIZE, lane, start, goes_on))


def _silences(context: Context) -> pd.DataFrame:
    """Long stretches without an operator or a call: lane, start, end, and the number of their kind.

    The stretch from the first event of the file to the first of a thread is one of them.
    """
    events, stack, first = context.events, context.stack, context.recording_start
    lanes, begins = np.unique(stack.piece_lane, return_index=True)
    lane, event = np.append(stack.piece_lane, lanes), np.append(stack.piece_event, np.full(len(lanes), -1))
    start = np.append(stack.piece_start, np.full(len(lanes), first))
    end = np.append(stack.piece_end, stack.piece_start[begins])
    passive = np.append(is_passive(events), True)
    chosen = passive[event] & (end - start >= SHORTEST_SILENCE_NS)
    lane, event, start, end = lane[chosen], event[chosen], start[chosen], end[chosen]
    # What ends by chance in a short stretch says nothing of the long ones.
    magnitude = np.log10(end - start).astype(np.int64)
    alike = pd.DataFrame({"lane": lane, "name": np.append(events.name.codes, -1)[event], "size": magnitude})
    kind = alike.groupby(list(alike), sort=False).ngroup()  # of a MultiIndex without rows pandas 2 fails
    return pd.DataFrame({"lane": lane, "start": start, "end": end, "kind": kind})


def _last_of_stream(events: Events, streams: Streams, silences: pd.DataFrame) -> list[pd.DataFrame]:
    """For each stream the work enqueued last before each silence, where it ended in it or just after."""
    start, end = silences["start"].to_numpy(np.int64), silences["end"].to_numpy(np.int64)
    parts = []
    for lane in streams.queue:
        work = streams.last_queued(lane, start)
        done = np.where(work >= 0, events.end[work], start)
        inside = np.flatnonzero((done > start) & (done <= end + _AFTER_NS) & (events.start[work] < end))
        chance = (_ALIKE_NS / (end - start))[inside]
        parts.append(_candidates(inside, work[inside], (end - done)[inside], chance, silences))
    return parts


def _any_of_stream(
    events: Events, launches: Launches, streams: Streams, silences: pd.DataFrame
) -> list[pd.DataFrame]:
    """For each stream all work that ended around the end of each silence and had been enqueued before it."""
    start, end = silences["start"].to_numpy(np.int64), silences["end"].to_numpy(np.int64)
    parts = []
    for lane, work in streams.by_lane.items():
        ended = work[np.argsort(events.end[work], kind="stable")]
        done, queued = events.end[ended], np.full(len(events), np.iinfo(np.int64).max)
        queued[streams.queue[lane]] = streams.queued_at[lane]
        # What has no launch may have been enqueued before the recording began.
        queued[work[launches.call[work] < 0]] = NONE
        first, last = (np.searchsorted(done, at, "right") for at in (start, end + _AFTER_NS))
        near = np.maximum(first, np.searchsorted(done, end - _BEFORE_NS, "left"))
        count = np.maximum(last - near, 0)
        silence, place = expand_ranges(near, count)
        # Each end makes the moments just after it look like one that was waited for.
        chance = ((last - first) * _ALIKE_NS / (end - start))[silence]
        before = (queued[ended[place]] < start[silence]) & (events.start[ended[place]] < end[silence])
        silence, place, chance = silence[before], place[before], chance[before]
        parts.append(_candidates(silence, ended[place], end[silence] - done[place], chance, silences))
    return parts


def _opening(context: Context, silences: pd.DataFrame) -> pd.DataFrame:
    """Silences with which the file begins, and the last work that was enqueued before it began, if it ended
    as the silence did."""
    events, streams, first = context.events, context.streams, context.recording_start
    opening = np.flatnonzero(silences["start"] == first)
    end = silences["end"].to_numpy(np.int64)[opening]
    parts = [pd.DataFrame({name: [] for name in (*_COLUMNS, "confidence")})]
    for work in streams.by_lane.values():
        before = work[np.cumsum(context.launches.call[work] >= 0) == 0]
        if not len(before):
            continue
        last = before[[int(events.end[before].argmax())] * len(opening)]
        lag = end - events.end[last]
        hit = (lag <= _BEFORE_NS) & (lag >= -_AFTER_NS) & (events.start[last] < end)
        chance = (_BEFORE_NS + _AFTER_NS) * len(streams.by_lane) / (end - first)
        found = _candidates(opening[hit], last[hit], lag[hit], chance[hit], silences)
        parts.append(found.assign(confidence=_SURE * (1 - found["chance"])))
    found = pd.concat(parts)
    return found[found["confidence"] >= _LEAST]


def _candidates(silence: Ints, work: Ints, lag: Ints, chance: Floats, of: pd.DataFrame) -> pd.DataFrame:
    columns = (silence, work, lag, np.minimum(chance, 1), of["kind"].to_numpy(np.int64)[silence])
    return pd.DataFrame(dict(zip(_COLUMNS, columns, strict=True)))


def _explained(streams: list[pd.DataFrame]) -> pd.DataFrame:
    """Candidates whose lag repeats on a stream, in enough silences of a kind, with a confidence."""
    parts = [pd.DataFrame({name: [] for name in (*_COLUMNS, "confidence")})]
    kinds = sum(found["kind"].nunique() for found in streams)
    for found in streams:
        expected = found.drop_duplicates("silence").groupby("kind")["chance"].sum()
        near = found[found["lag"].between(-_AFTER_NS, _BEFORE_NS)]
        hits = near.groupby("kind")["silence"].nunique()
        worth = hits.index[(hits >= _LEAST_HITS) & (hits > expected.reindex(hits.index))]
        for kind, same in near[near["kind"].isin(worth)].groupby("kind"):
            alike, chance = _alike(same), float(expected[kind])
            if len(alike) >= _LEAST_HITS and kinds * _LAGS * by_chance(len(alike), chance) <= _CHANCE:
                parts.append(alike.assign(confidence=_SURE * (1 - chance / len(alike))))
    return pd.concat(parts)


def _alike(near: pd.DataFrame) -> pd.DataFrame:
    """The candidates in the 40 µs of lags that hold most silences, the nearest to their median of each."""
    near = near.sort_values("lag", kind="stable")
    lag, silence = near["lag"].tolist(), near["silence"].tolist()
    inside: Counter[int] = Counter()
    most, begin, first, last = 0, 0, 0, 0
    for end in range(len(lag)):
        inside[silence[end]] += 1
        while lag[end] - lag[begin] > _ALIKE_NS:
            inside[silence[begin]] -= 1
            if not inside[silence[begin]]:
                del inside[silence[begin]]
            begin += 1
        if len(inside) > most:
            most, first, last = len(inside), begin, end + 1
    chosen = near.iloc[first:last]
    distance = (chosen["lag"] - chosen["lag"].median()).abs()
    return chosen.iloc[np.argsort(distance.to_numpy(), kind="stable")].drop_duplicates("silence")
