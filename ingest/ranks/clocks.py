"""The clocks of several ranks, aligned by the ends of shared operations: all members leave together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.ingest.arrays import Floats, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.ranks.matching import Operation

_ENOUGH_FOR_DRIFT = 10
"""Operations from which on a drift is fitted at all: a line through a few follows their noise."""
_MOST_FOR_DRIFT = 400
"""Operations that the fit of a drift looks at; it compares all pairs of them, 80,000 at most, so that it
takes a moment."""
_WORTH = 0.5
"""A drift counts if it makes the spread smaller than this share of what it is without. Chosen by eye: a
larger share would add drifts to clocks that have none, a smaller one miss those that are small beside the
noise."""
_NORMAL = 1.4826
"""The standard deviation of a normal distribution in units of its median absolute deviation."""


_Ends = Mapping[tuple[int, int], list[tuple[int, int]]]
"""Ends of shared operations, ns, by the two whose clocks they show."""


@dataclass(frozen=True)
class RankClock:
    """What is added to a rank's times: `offset_ns` at `since_ns`, and `drift_ppb` ns more each second.

    `spread_ns`: how far the ends of its operations then lie from those of another rank, as a rule; None if
    the rank shares no operation that shows its clock.
    """

    offset_ns: int = 0
    drift_ppb: int = 0
    since_ns: int = 0
    spread_ns: int | None = None

    def put_right(self, times: Ints) -> Ints:
        """Convert times to the first rank's clock; `NONE`, which stands for the beginning, stays."""
        known = np.where(times == NONE, self.since_ns, times)
        more = np.rint((known - self.since_ns) * (self.drift_ppb * 1e-9)).astype(np.int64)
        return np.where(times == NONE, NONE, known + self.offset_ns + more)


def align_ranks(
    ranks: Sequence[int], operations: Iterable[Operation], clocks: Sequence[str] = ()
) -> dict[int, RankClock]:
    """Find the clock of each rank against that of the first.

    Ranks that are said to share a clock (`clocks`: a name for each rank, empty if unknown) are moved
    together. How far apart they leave an operation shows how much ends tell of clocks: an offset between
    two clocks that is no larger counts as none.

    Ranks are joined through those with which they share the most operations. A rank that shares none with a
    rank that is joined to the first stays as it is, with no spread. An offset within its own spread counts as
    none: on one host the clocks agree.
    """
    names = clocks or [""] * len(ranks)
    first = {name: rank for rank, name in zip(reversed(ranks), reversed(names), strict=True) if name}
    leader = {rank: first.get(name, rank) for rank, name in zip(ranks, names, strict=True)}
    operations = list(operations)
    apart = _apart_on_one_clock(operations, leader)
    found = _align(list(dict.fromkeys(leader.values())), _ends(operations, leader), apart)
    return {rank: found[leader[rank]] for rank in ranks}


def _apart_on_one_clock(operations: Sequence[Operation], leader: Mapping[int, int]) -> int:
    """Find how far apart members on one clock leave an operation, ns; 0 if none has two on one clock.

    It is the median over the operations, and in each the largest of all clocks.
    """
    lengths = []
    for operation in operations:
        ends: dict[int, list[int]] = {}
        for rank, member in operation.members.items():
            ends.setdefault(leader[rank], []).append(member.end)
        lengths += sorted(max(mine) - min(mine) for mine in ends.values() if len(mine) > 1)[-1:]
    return round(float(np.median(lengths))) if lengths else 0


def _align(ranks: Sequence[int], ends: _Ends, apart: int) -> dict[int, RankClock]:
    clocks = {ranks[0]: RankClock(spread_ns=0)}
    while True:
        open_pairs = {
            pair: len(times) for pair, times in ends.items() if pair[0] in clocks and pair[1] not in clocks
        }
        if not open_pairs:
            return {rank: clocks.get(rank, RankClock()) for rank in ranks}
        known, rank = min(open_pairs, key=lambda pair: (-open_pairs[pair], pair))
        times = np.array(ends[known, rank], dtype=np.int64)
        fitted = fit_clock(clocks[known].put_right(times[:, 0]), times[:, 1])
        if abs(fitted.offset_ns) <= apart:
            fitted = RankClock(since_ns=fitted.since_ns, spread_ns=fitted.spread_ns)
        clocks[rank] = replace(fitted, spread_ns=max(fitted.spread_ns or 0, apart))


def _ends(operations: Iterable[Operation], leader: Mapping[int, int]) -> _Ends:
    """Collect the ends of shared operations for each ordered pair of clocks, by their first ranks, ns."""
    ends: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for operation in operations:
        members = operation.members
        for one in members:
            for other in members:
                pair = leader[one], leader[other]
                if pair[0] != pair[1]:
                    ends.setdefault(pair, []).append((members[one].end, members[other].end))
    return ends


def fit_clock(known: Ints, mine: Ints) -> RankClock:
    """Find what to add to `mine`, ns, so that it lies at `known` as a rule.

    It is an offset, or an offset with a drift if that comes much nearer. The drift is the median of the
    slopes of all pairs (Theil-Sen).
    """
    apart = known - mine
    since = int(mine[0])
    offset = int(np.median(apart))
    spread = _spread(apart - offset)
    if abs(offset) <= spread:
        offset, spread = 0, _spread(apart)
    plain = RankClock(offset, 0, since, round(spread))
    if len(mine) < _ENOUGH_FOR_DRIFT:
        return plain
    chosen = np.unique(np.linspace(0, len(mine) - 1, _MOST_FOR_DRIFT).astype(np.int64))
    drift = round(_median_slope((mine - since)[chosen], apart[chosen]) * 1e9)
    drifting = RankClock(0, drift, since)
    rest = known - drifting.put_right(mine)
    base = int(np.median(rest))
    nearer = _spread(rest - base)
    return RankClock(base, drift, since, round(nearer)) if nearer < _WORTH * spread - 1 else plain


def _median_slope(x: Ints, y: Ints) -> float:
    """Find the median of the slopes of all pairs of points.

    SciPy's `theilslopes` gives the same with an interval, which nobody needs here, and takes .5 s to import.
    """
    rise, run = (one[:, None] - one for one in (y.astype(np.float64), x.astype(np.float64)))
    return float(np.median(rise[run > 0] / run[run > 0]))


def _spread(apart: Ints | Floats) -> float:
    return float(np.median(np.abs(apart))) * _NORMAL
