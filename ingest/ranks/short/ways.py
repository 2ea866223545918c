"""What else may hold up an operation of a rank: ends of several operations before it, each with its lag.

An operation starts at the latest of several times, each of which is that of an operation before it and a lag.
Which of them is the latest changes where operations come earlier: what a thread does ahead of its GPU then
takes longest. So the longest ways from several operations are followed at once through the graph of the rank,
and end where the next operation is complete.
"""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.graph.order import replay_order
from tracegraph.ingest.causal.graph.runs import Runs, follows_in_lane
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.vocabulary.mechanisms import CODE, GIL_HOLDER

START = -1
"""Stands for the window's start among operations."""
_MOST = 3
"""How many operations are followed to each segment: the one that held it up, and two more."""


_Way = tuple[int, int, float, bool]
"""A way so far: when it arrives, ns, from which operation, the confidence of its least sure dependency, and
whether all are recorded. A tuple, since there are several for each call of a rank."""


@dataclass(frozen=True)
class Ways:
    """Ways to operations, one entry for each.

    Attributes
    ----------
    effect
        The place of what is held up among those asked about.
    cause
        The operation whose end it comes from, by position; `START` for the window's start.
    arrival
        When the effect could have started had this been its only cause, ns.
    recorded
        Whether the file states all dependencies of the way.
    confidence
        That of the least sure of them, 0..1.
    """

    effect: Ints
    cause: Ints
    arrival: Ints
    recorded: Flags
    confidence: Floats


def find_ways(solution: Solution, owner: Ints, ends: Flags, asked: Ints) -> Ways:
    """Find the longest ways from up to `_MOST` operations to the start of each segment asked about.

    Parameters
    ----------
    owner
        The operation in which each segment lies, -1 for none.
    ends
        The segments with which an operation is complete: no way leads over one.
    asked
        Positions of segments.
    """
    graph = _Entries(solution, owner, ends)
    found = graph.followed()
    rows = [
        (place, operation, time + later, recorded, confidence)
        for place, (entry, later) in enumerate(
            zip(graph.before[asked].tolist(), graph.offset[asked].tolist(), strict=True)
        )
        for time, operation, confidence, recorded in found[entry]
    ]
    effect, cause, arrival, recorded, confidence = zip(*rows, strict=True) if rows else ((),) * 5
    return Ways(
        np.array(effect, dtype=np.int64),
        np.array(cause, dtype=np.int64),
        np.array(arrival, dtype=np.int64),
        np.array(recorded, dtype=bool),
        np.array(confidence, dtype=np.float64),
    )


class _Entries:
    """The graph of a rank, cut where operations end; entries are what more than their run may hold up.

    A run is a stretch of a lane in which each segment has a dependency on the one before; times in it are
    counted from its first segment, so that a way is the same at all segments up to the next entry.

    Attributes
    ----------
    before
        The entry that each segment is or comes after.
    offset
        How long after the start of its run each segment starts, ns.
    """

    def __init__(self, solution: Solution, owner: Ints, ends: Flags) -> None:
        segments = solution.segments
        count = len(segments)
        found = solution.dependencies
        found = select_rows(found, found.mechanism != CODE[GIL_HOLDER])
        cause, effect = found.cause, found.effect
        cut = ends[cause]
        along = follows_in_lane(segments, found) & ~cut
        runs = Runs(count, effect[along], found.lag[along])
        begins, run = runs.begins, runs.of_segment
        self.offset = runs.offsets(segments.work)
        across = ~along & ~cut
        is_entry = begins.copy()
        is_entry[effect[~along]] = True
        in_order = replay_order(segments, cause, effect)
        entries = in_order[is_entry[in_order]]
        place = np.full(count, -1, dtype=np.int64)
        place[entries] = np.arange(len(entries))
        self.before: Ints = place[np.maximum.accumulate(np.where(is_entry, np.arange(count), -1))]
        self._count, self._begun = len(entries), solution.window.start
        inner = np.flatnonzero(is_entry & ~begins)
        least, stated = np.ones(run[-1] + 1), np.ones(run[-1] + 1, dtype=bool)
        np.minimum.at(least, run[effect[along]], found.confidence[along])
        np.logical_and.at(stated, run[effect[along]], found.recorded[along])
        later = self.offset[cause] + segments.work[cause] + found.lag - self.offset[effect]
        confidence = np.minimum(found.confidence, least[run[effect]])
        recorded = found.recorded & stated[run[effect]]
        self._edges = (
            np.concatenate([place[effect[across]], place[inner]]),
            np.concatenate([self.before[cause[across]], self.before[inner - 1]]),
            np.concatenate([later[across], np.zeros(len(inner), dtype=np.int64)]),
            np.concatenate([confidence[across], least[run[inner]]]),
            np.concatenate([recorded[across], stated[run[inner]]]),
        )
        seed = segments.completion[cause[cut]] + found.lag[cut] - self.offset[effect[cut]]
        self._seeds = (place[effect[cut]], seed, owner[cause[cut]], confidence[cut], recorded[cut])

    def followed(self) -> list[list[_Way]]:
        """List the ways to each entry, the latest first, on the clock of its run."""
        seeds: list[list[_Way]] = [[] for _ in range(self._count)]
        for entry, *way in zip(*(column.tolist() for column in self._seeds), strict=True):
            seeds[entry].append(tuple(way))
        key, *columns = self._edges
        order = np.argsort(key, kind="stable")
        first = np.searchsorted(key[order], np.arange(self._count + 1)).tolist()
        cause, later, confidence, recorded = (column[order].tolist() for column in columns)
        found: list[list[_Way]] = []
        for entry, ways in enumerate(seeds):
            for i in range(first[entry], first[entry + 1]):
                delay, sure, stated = later[i], confidence[i], recorded[i]
                ways += [
                    (time + delay, operation, least if least < sure else sure, known and stated)
                    for time, operation, least, known in found[cause[i]]
                ]
            found.append(_latest(ways) if ways else [(self._begun, START, 1.0, True)])
        return found


def _latest(ways: list[_Way]) -> list[_Way]:
    """Keep the latest way from each operation, and the latest of these."""
    if len(ways) == 1:
        return ways
    ways.sort(reverse=True)
    kept, known = [ways[0]], [ways[0][1]]
    for way in ways:
        if way[1] not in known:
            kept.append(way)
            known.append(way[1])
            if len(kept) == _MOST:
                break
    return kept
