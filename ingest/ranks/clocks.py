"""The clocks of several ranks, aligned by the ends of shared operations: all members leave together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Floats, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.ranks.matching import Operation

_ENOUGH_FOR_DRIFT = 10
"""Operations from which on a drift is fitted at all."""
_MOST_FOR_DRIFT = 400
"""Operations that the fit of a drift looks at; it compares all pairs of them."""
_WORTH = 0.5
"""A drift counts if it makes the spread smaller than this share of what it is without."""
_NORMAL = 1.4826
"""The standard deviation of a normal distribution in units of its median absolute deviation."""


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


def align_ranks(ranks: Sequence[int], operations: Iterable[Operation]) -> dict[int, RankClock]:
    """Find the clock of each rank against that of the first.

    Ranks are joined through those with which they share the most operations. A rank that shares none with a
    rank that is joined to the first stays as it is, with no spread. An offset within its own spread counts as
    none: on one host the clocks agree.
    """
    ends = _ends(operations)
    clocks = {ranks[0]: RankClock(spread_ns=0)}
    while True:
        open_pairs = {
            pair: len(times) for pair, times in ends.items() if pair[0] in clocks and pair[1] not in clocks
        }
        if not open_pairs:
            return {rank: clocks.get(rank, RankClock()) for rank in ranks}
        known, rank = min(open_pairs, key=lambda pair: (-open_pairs[pair], pair))
        times = np.array(ends[known, rank], dtype=np.int64)
        clocks[rank] = fit_clock(clocks[known].put_right(times[:, 0]), times[:, 1])


def _ends(operations: Iterable[Operation]) -> Mapping[tuple[int, int], list[tuple[int, int]]]:
    """Collect the ends of shared operations for each ordered pair of ranks, ns."""
    ends: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for operation in operations:
        members = operation.members
        for one in members:
            for other in members:
                if one != other:
                    ends.setdefault((one, other), []).append((members[one].end, members[other].end))
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
    from scipy import stats  # noqa: PLC0415  (takes .5 s, and few files need it)

    chosen = np.unique(np.linspace(0, len(mine) - 1, _MOST_FOR_DRIFT).astype(np.int64))
    slope = float(stats.theilslopes(apart[chosen], (mine - since)[chosen])[0])
    drift = round(slope * 1e9)
    drifting = RankClock(0, drift, since)
    rest = known - drifting.put_right(mine)
    base = int(np.median(rest))
    nearer = _spread(rest - base)
    return RankClock(base, drift, since, round(nearer)) if nearer < _WORTH * spread - 1 else plain


def _spread(apart: Ints | Floats) -> float:
    return float(np.median(np.abs(apart))) * _NORMAL
