"""Runs of segments, in which each has a dependency on the one before, and the links between runs."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.segments import Segments
from tracegraph.vocabulary.mechanisms import CODE, GIL_HOLDER


def follows_in_lane(segments: Segments, found: Dependencies) -> Flags:
    """Tell which dependencies are those of a segment on the one before on its lane."""
    next_one: Flags = (found.cause == found.effect - 1) & (
        segments.lane[found.cause] == segments.lane[found.effect]
    )
    return next_one


class Runs:
    """Which run each segment is in; the segments of a run move together between what else holds them up.

    Parameters
    ----------
    count
        The number of segments.
    follows, lag
        The segments that depend on the one before, and how long after its end each may start, ns. Of several
        lags of a segment the longest holds.

    Attributes
    ----------
    begins
        Whether each segment is the first of its run.
    of_segment
        The number of its run.
    firsts
        The first segment of each run.
    """

    def __init__(self, count: int, follows: Ints, lag: Ints) -> None:
        lags = np.zeros(count, dtype=np.int64)
        np.maximum.at(lags, follows, lag)
        self._lags: Ints = np.cumsum(lags)
        self.begins: Flags = np.ones(count, dtype=bool)
        self.begins[follows] = False
        self.of_segment: Ints = np.cumsum(self.begins)
        self.of_segment -= 1
        self.firsts: Ints = np.flatnonzero(self.begins)

    def totals(self, work: Ints) -> Ints:
        """Sum up the work before each segment and the lags up to it, over all segments in order, ns."""
        total = self._lags.copy()
        total[1:] += np.cumsum(work[:-1])
        return total

    def totals_at(self, marks: Ints, work: Ints) -> Ints:
        """Find `totals` at some segments in order, the first of which is the first of all."""
        if not len(marks):
            return marks
        done = np.cumsum(np.add.reduceat(work, marks))
        total = self._lags[marks]
        total[1:] += done[:-1]
        return total

    def offsets(self, work: Ints) -> Ints:
        """Calculate when each segment starts after the start of its run, as if nothing else held it, ns."""
        total = self.totals(work)
        offsets: Ints = total - total[self.firsts][self.of_segment]
        return offsets


@dataclass(frozen=True)
class Sides:
    """Which dependencies are those of a segment on the one before on its lane, and which are others.

    In a replay others may hold the GIL, so its recorded holder holds nobody up, and is neither.
    """

    along: Flags
    across: Flags


@dataclass(frozen=True)
class Links:
    """The dependencies of a replay; lags in ns.

    Attributes
    ----------
    follows, waits
        The segments that depend on the one before on their lane, and how long after its end each may start.
    cause, effect, lag
        All other dependencies.
    """

    follows: Ints
    waits: Ints
    cause: Ints
    effect: Ints
    lag: Ints

    @property
    def ends(self) -> tuple[Ints, Ints]:
        """The causes and the effects of all."""
        return np.append(self.follows - 1, self.cause), np.append(self.follows, self.effect)


def find_sides(segments: Segments, found: Dependencies) -> Sides:
    """Tell which dependencies lead along a lane."""
    along, holds = follows_in_lane(segments, found), found.mechanism == CODE[GIL_HOLDER]
    return Sides(along & ~holds, ~along & ~holds)


def find_links(segments: Segments, found: Dependencies) -> Links:
    """Take from dependencies what a replay needs."""
    return chosen_links(found, found.lag, find_sides(segments, found))


def chosen_links(found: Dependencies, lag: Ints, sides: Sides, kept: Flags | None = None) -> Links:
    """Take what a replay needs from those dependencies that are `kept`, with other lags."""
    along, across = (
        np.flatnonzero(side if kept is None else side & kept) for side in (sides.along, sides.across)
    )
    return Links(found.effect[along], lag[along], found.cause[across], found.effect[across], lag[across])
