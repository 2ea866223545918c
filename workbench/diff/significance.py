"""Whether two series of step lengths differ by more than chance, and what so many steps could show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

LEAST_STEPS = 5
"""Fewer steps on a side say too little about how much steps vary."""
SURE, POWER = 0.95, 0.8
"""The confidence of the interval, and how often the smallest difference that can be shown is found; 0..1."""
_WARM_SPREADS = 4.0
"""A first step this many spreads above the median belongs to the warm-up; normal steps are once in 30,000."""
_TREND_P = 0.01
"""A trend over the steps that chance brings more rarely than this is a drift."""
_MOST_CORRELATED = 0.95
"""Above that so few steps of a recording are independent that no number would mean anything."""
_LEAST_FREEDOM = 0.5
"""What steps that hardly tell anything count for: the interval is then far wider than any step."""


@dataclass(frozen=True)
class Sample:
    """The steps of one side; times in ns.

    `count`: steps that count. `warm_up`: first steps that are left out, since they take far longer than the
    others. `autocorrelation`: of the lengths of neighbouring steps, 0..1, corrected for its bias; what is
    below 0 counts as 0. `independent`: as many independent steps would say as much about the mean.
    `drift_ns`: by how much a line through the lengths rises from the first to the last step; 0 if chance may
    bring it.
    `error_ns`: the standard error of the mean. `freedom`: degrees of freedom of that error.
    """

    count: int
    warm_up: int
    mean_ns: float
    autocorrelation: float
    independent: float
    drift_ns: float
    error_ns: float
    freedom: float


@dataclass(frozen=True)
class Comparison:
    """How much longer a step of B is than one of A on average, with Welch's interval of 95 %; times in ns.

    `p`: how often chance alone brings such a difference, 0..1. `shown_ns`: the smallest difference that is
    told from chance in 80 % of such recordings.
    """

    a: Sample
    b: Sample
    diff_ns: float
    low_ns: float
    high_ns: float
    p: float
    shown_ns: float

    @property
    def is_told(self) -> bool:
        """Whether the difference is told from chance: the interval leaves out 0."""
        return self.low_ns > 0 or self.high_ns < 0


def compare_steps(a: Sequence[float], b: Sequence[float]) -> Comparison | None:
    """Compare the mean lengths of the steps of A and B, given in the order of time.

    Welch's test (1947) with three changes, for steps are no independent draws: steps of a warm-up are left
    out, steps that resemble their neighbours count for fewer, and half of each drift widens the interval, as
    the mean then depends on which steps were recorded.

    Parameters
    ----------
    a, b
        Lengths of the steps, ns.

    Returns
    -------
    Comparison or None
        None if a side has fewer than five steps.
    """
    if min(len(a), len(b)) < LEAST_STEPS:
        return None
    # Imported here: scipy takes as long to load as all the rest.
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415

    of_a, of_b = sample(a), sample(b)
    diff, drift = of_b.mean_ns - of_a.mean_ns, (abs(of_a.drift_ns) + abs(of_b.drift_ns)) / 2
    error, freedom = welch((of_a.error_ns, of_a.freedom), (of_b.error_ns, of_b.freedom))
    half = float(stdtrit(freedom, (1 + SURE) / 2)) * error + drift
    beyond = max(0.0, abs(diff) - drift)
    chance = 2 * float(stdtr(freedom, -beyond / error)) if error else float(not beyond)
    shown = half + float(stdtrit(freedom, POWER)) * error
    return Comparison(of_a, of_b, diff, diff - half, diff + half, chance, shown)


def welch(*means: tuple[float, float]) -> tuple[float, float]:
    """Return the standard error of the difference of two means, and its degrees of freedom.

    The degrees of freedom are those of Welch (1947) and Satterthwaite (1946); 1 if neither mean has an error.

    Parameters
    ----------
    means
        The standard error of each mean, and its degrees of freedom.
    """
    total = sum(error**2 for error, _ in means)
    parts = sum(error**4 / freedom for error, freedom in means)
    return math.sqrt(total), total**2 / parts if parts else 1.0


def sample(lengths: Sequence[float]) -> Sample:
    """Describe at least five steps of one side.

    With n steps whose neighbours' correlation is r, the mean is as uncertain as that of m independent steps:
    m = n / (1 + 2 Σ (1 - k/n) r^k), as for an autoregressive series of order 1 (Bayley and Hammersley, 1946).
    """
    values = np.asarray(lengths, dtype="float64")
    warm_up = _warm_up(values)
    values = values[warm_up:]
    n, mean = len(values), float(values.mean())
    around = values - mean
    slope = _slope(around)
    times = np.arange(n) - (n - 1) / 2
    around = around - slope * times
    squares = float(around @ around)
    correlation = _correlation(around, squares)
    lags = np.arange(1, n)
    independent = float(n / (1 + 2 * ((1 - lags / n) * correlation**lags).sum()))
    freedom = max(_LEAST_FREEDOM, independent - (2 if slope else 1))
    # Correlated steps lie nearer to their own mean than to that of all steps: the divisor makes up for it.
    return Sample(
        count=n,
        warm_up=warm_up,
        mean_ns=mean,
        autocorrelation=correlation,
        independent=independent,
        drift_ns=slope * (n - 1),
        error_ns=math.sqrt(squares / (n * freedom)),
        freedom=freedom,
    )


def _warm_up(values: NDArray[np.float64]) -> int:
    """Count the first steps that are far longer than what the second half is like; five steps always stay."""
    later = values[len(values) // 2 :]
    median = np.median(later)
    spread = 1.4826 * np.median(np.abs(later - median))
    usual = np.flatnonzero(values <= median + _WARM_SPREADS * spread)
    return int(min(usual[0], len(values) - LEAST_STEPS, len(values) // 2))


def _slope(around: NDArray[np.float64]) -> float:
    """Return the slope of the line through the lengths, ns a step; 0 if their order may be chance.

    Whether it may is told by Spearman's correlation of ranks, which single long steps hardly change.
    """
    from scipy.special import stdtr  # noqa: PLC0415

    n = len(around)
    times = np.arange(n) - (n - 1) / 2
    ranks = pd.Series(around).rank().to_numpy() - (n + 1) / 2
    size = math.sqrt(float(ranks @ ranks) * float(times @ times))
    if not size:
        return 0.0
    order = float(ranks @ times) / size
    rest = max(0.0, 1 - order**2)
    chance = 2 * float(stdtr(n - 2, -abs(order) * math.sqrt((n - 2) / rest))) if rest else 0.0
    return float(around @ times) / float(times @ times) if chance < _TREND_P else 0.0


def _correlation(around: NDArray[np.float64], squares: float) -> float:
    """Return the correlation of neighbours, corrected for its bias in short series (Kendall, 1954)."""
    if not squares:
        return 0.0
    n = len(around)
    found = float(around[1:] @ around[:-1]) / squares
    return min(_MOST_CORRELATED, max(0.0, (n * found + 1) / (n - 3)))
