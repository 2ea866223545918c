"""Drift of the GPU's clock and the lags along it: the line along which most lags are short.

Lags are long for many reasons, and some pairs are wrong; but the shortest lags of a file repeat. A lag
counts the more, the closer it lies above a lower edge, and one below the edge counts against it.
"""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Floats
from tracegraph.ingest.causal.clock.pairs import Pairs

_NEAR_NS = 5_000.0
_AGAINST = 0.5
_LARGEST_DRIFT = 300e-6
_MOST_STEPS = 400
_BETTER = 1.2
_PARTS, _PER_PART = 32, 64
_LEAST_PAIRS = 8


@dataclass(frozen=True)
class Fit:
    """The shortest lags that repeat, at the window's start; infinite without such pairs.

    `launch_ns`: from a launch call's start to its work's, `late_launch_ns` from its end, and `by_end` whether
    the latter repeats better. `return_ns`: from awaited work's end to the call's return.
    """

    launch_ns: float
    late_launch_ns: float
    by_end: bool
    return_ns: float
    drift_ppb: int


def fit_clock(launched: Pairs, launched_late: Pairs, awaited: Pairs) -> Fit:
    """The drift, up to 300 ppm and 1 ms in all, at which most lags are short, and those lags.

    `launched_late`: as `launched`, from the calls' ends. There is no drift where the lags without one are
    nearly as good.
    """
    sides = _Sides(_shortest(launched), _shortest(launched_late), _shortest(awaited))
    slope = _find_drift(sides)
    from_start, from_end, back = sides.edges(slope)
    return Fit(from_start[1], from_end[1], from_end[0] > from_start[0], back[1], round(slope * 1e9))


@dataclass(frozen=True)
class _Sides:
    launched: Pairs
    launched_late: Pairs
    awaited: Pairs

    def edges(self, slope: float) -> list[tuple[float, float]]:
        """What `_edge` says of each kind of pairs under a drift."""
        kinds = ((self.launched, slope), (self.launched_late, slope), (self.awaited, -slope))
        return [_edge(pairs.lag + more * pairs.time) for pairs, more in kinds]

    def score(self, slope: float) -> float:
        """How well the shortest lags repeat under a drift."""
        from_start, from_end, back = self.edges(slope)
        return max(from_start[0], from_end[0]) + back[0]


def _find_drift(sides: _Sides) -> float:
    times = np.concatenate([sides.launched.time, sides.awaited.time])
    span = float(np.ptp(times)) if len(times) >= _LEAST_PAIRS else 0.0
    if span <= 0:
        return 0.0
    step = _NEAR_NS / 4 / span
    count = int(min(_LARGEST_DRIFT / step, _MOST_STEPS / 2))
    coarse = max((np.arange(-count, count + 1) * step).tolist(), key=sides.score)
    best = max((coarse + np.arange(-10, 11) * step / 10).tolist(), key=sides.score)
    return float(best) if sides.score(best) > _BETTER * sides.score(0.0) else 0.0


def _shortest(pairs: Pairs) -> Pairs:
    """The pairs with the shortest lags of each part of the time."""
    if not len(pairs.lag):
        return pairs
    part = (pairs.time - pairs.time.min()) * _PARTS // (np.ptp(pairs.time) + 1)
    order = np.lexsort((pairs.lag, part))
    begins = np.searchsorted(part[order], part[order])
    chosen = order[np.arange(len(order)) - begins < _PER_PART]
    return Pairs(pairs.time[chosen], pairs.lag[chosen])


def _edge(lags: Floats) -> tuple[float, float]:
    """How many lags lie just above the best lower edge, weighted by how near, and that edge."""
    if not len(lags):
        return 0.0, np.inf
    lags = np.sort(lags)
    # From the first one on: large numbers would cost the sums their precision.
    total = np.concatenate([[0.0], np.cumsum(lags - lags[0])])
    below = np.arange(len(lags))
    until = np.searchsorted(lags, lags + _NEAR_NS, "right")
    above = until - below
    beyond = total[until] - total[below] - above * (lags - lags[0])
    scores = above - beyond / _NEAR_NS - _AGAINST * below
    best = int(scores.argmax())
    return float(scores[best]), float(lags[best])
