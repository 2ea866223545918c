"""Forks and joins between the streams of one graph, from what repeats over its launches."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.events.overlaps import NOISE_NS, only_slightly
from tracegraph.ingest.causal.launches.launches import LONGEST_STREAM_GAP_NS
from tracegraph.ingest.causal.rules.gpu.graph_works import Graphs
from tracegraph.ingest.causal.rules.sureness import LEAST_SURE, MOST_SURE, share_for, surer_at_once

_MORE_NS = 2_000
"""A start comes at once if its lag is at most twice the graph's usual one and this more. Chosen by eye: about
what pauses between works of a queue last at the 95 % quantile of recorded files (2 to 5 µs); less would take
noise for a wait."""
_ALWAYS_IN_ORDER = 0.7
"""The prior, for many launches: how likely two works depend on each other if all launches show them in one
order. An estimate, below 1 since what is never the last to end before its effect may be there by chance
(docs/rules.md)."""
_NOISY, _ODD = 0.5, 0.05
"""In which share of the launches two works of one order may overlap slightly: in a file whose streams show
noise in their own order, and in others. Chosen by eye: where noise is seen, up to the majority may be noise;
elsewhere one in twenty is an odd row."""


@dataclass(frozen=True)
class Pairs:
    """GPU activities, cause and effect, with the usual lag between them in ns."""

    cause: Ints
    effect: Ints
    lag: Ints
    confidence: Floats


def no_pairs() -> Pairs:
    """Return a table without rows."""
    nothing = np.empty(0, dtype=np.int64)
    return Pairs(nothing, nothing, nothing, np.empty(0))


def find_forks(events: Events, graphs: Graphs) -> Pairs:
    """Order between streams inside the launches of each graph.

    For each work of a graph, the candidate on another stream is the last one that had ended before the work
    started in *every* launch (noise aside), where it is a later one than for the work before. It is the cause
    where the work starts right after its end, later than all else; where it never comes last it may only have
    been early by chance, the less so, the more launches there are.
    """
    parts = [no_pairs()]
    size = np.diff(graphs.first)
    by_kind = np.argsort(graphs.kind, kind="stable")
    for chosen in np.split(by_kind, np.flatnonzero(np.diff(graphs.kind[by_kind])) + 1):
        first = graphs.first[chosen]
        work = graphs.work[first[:, None] + np.arange(size[chosen[0]])]
        lane = events.lane[work[0]]
        if lane[0] != lane[-1]:
            parts.append(_of_kind(events, work, lane))
    return join_rows(parts)


def _of_kind(events: Events, work: Ints, lane: Ints) -> Pairs:
    """Pairs of one graph; `work`: one row a launch, one column a node; columns by lane and order there."""
    start, end = events.start[work], events.end[work]
    follows = np.append(False, lane[1:] == lane[:-1])
    gap = (start[:, 1:] - end[:, :-1])[:, follows[1:]]
    # Where rows of one stream overlap slightly, the times are noisy, and so may those of two streams.
    noisy = bool(((gap < 0) & (gap >= -NOISE_NS)).any())
    gap = gap[gap >= 0]
    usual = min(LONGEST_STREAM_GAP_NS, int(np.median(gap))) if len(gap) else 0
    node, effect = _candidates(start, end, lane, _NOISY if noisy else _ODD)
    own = np.where(follows, np.roll(end, 1, axis=1), NONE)[:, effect]
    # Of several candidates of one node only the last to end can have been what it waited for.
    latest = np.full(start.shape, NONE, dtype=np.int64)
    for column, other in zip(effect, node, strict=True):
        latest[:, column] = np.maximum(latest[:, column], end[:, other])
    lag = start[:, effect] - end[:, node]
    decisive = (end[:, node] > own) & (end[:, node] == latest[:, effect])
    at_once = decisive & (lag <= 2 * usual + _MORE_NS)
    count = len(work)
    share = share_for(at_once.sum(axis=0), decisive.sum(axis=0), _ALWAYS_IN_ORDER * count / (count + 2))
    waited = np.where(own > NONE, start[:, effect] - own, start[:, effect] - start.min(axis=1)[:, None])
    chance = np.minimum(1, (2 * usual + _MORE_NS) / np.maximum(waited, 1))
    sure = surer_at_once(share, at_once, chance)
    sure = np.where(only_slightly(events, work[:, node], work[:, effect]), sure, 0)
    row, column = np.nonzero(sure >= LEAST_SURE)
    lags = _low_lags(lag, at_once, usual)
    confidence = np.minimum(sure[row, column], MOST_SURE)
    return Pairs(work[row, node[column]], work[row, effect[column]], lags[column], confidence)


def _candidates(start: Ints, end: Ints, lane: Ints, overlapping: float) -> tuple[Ints, Ints]:
    """Columns of causes and effects between each two lanes; a share of the launches may overlap slightly."""
    odd = int(overlapping * len(start))
    nodes, effects = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for other in np.unique(lane).tolist():
        there = np.flatnonzero(lane == other)
        ended = np.maximum.accumulate(end[:, there], axis=1)
        for mine in np.unique(lane[lane != other]).tolist():
            here = np.flatnonzero(lane == mine)
            slightly = _last_before(ended, start[:, here] + NOISE_NS).min(axis=0)
            clearly = np.sort(_last_before(ended, start[:, here]), axis=0)[odd]
            always = np.minimum(slightly, clearly)
            news = always > np.maximum.accumulate(np.append(-1, always[:-1]))
            nodes.append(there[always[news]])
            effects.append(here[news])
    return np.concatenate(nodes), np.concatenate(effects)


def _last_before(ended: Ints, start: Ints) -> Ints:
    """In each row the position of the last of `ended` that is not later than each start, -1 for none."""
    launches, count = ended.shape
    # All rows one after the other on one axis of time, so that one search does for all.
    begin = np.minimum(ended[:, 0], start.min(axis=1))
    span = np.maximum(ended[:, -1], start.max(axis=1)) - begin + 1
    moved = (np.cumsum(span) - span - begin)[:, None]
    found = np.searchsorted((ended + moved).ravel(), (start + moved).ravel(), "right").reshape(start.shape)
    position: Ints = found - 1 - count * np.arange(launches)[:, None]
    return position


def _low_lags(lag: Ints, at_once: Flags, usual: int) -> Ints:
    """Return the least lag of each two nodes where it was what held the work, else the graph's usual one."""
    least = np.where(at_once, np.maximum(lag, 0), LONGEST_STREAM_GAP_NS).min(
        axis=0, initial=LONGEST_STREAM_GAP_NS
    )
    return np.where(at_once.any(axis=0), least, usual)
