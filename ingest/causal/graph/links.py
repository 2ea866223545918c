"""Dependencies as a replay needs them: those along lanes, which make runs, and those between runs."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.runs import follows_in_lane
from tracegraph.ingest.causal.graph.segments import Segments
from tracegraph.vocabulary.mechanisms import CODE, GIL_HOLDER


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
