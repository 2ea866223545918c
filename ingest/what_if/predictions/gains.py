"""Gains of a change, and how far they may be off."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracegraph.ingest.arrays import Ints
from tracegraph.vocabulary.gaps import EARLIER_WORK

_UNKNOWN = 0.1
"""Share (0..1) of a gain by which it differs from one measurement of the same change to the next. Of four
changes that were timed three times each (docs/accuracy.md), three gain within 10 % of their mean, and one of
2 to 3 % of the run within a quarter."""
_FEWEST_STEPS = 3
"""Two steps differ by chance so much that their interval says nothing."""
_WIDE, _LEVELS_DIFFER = 10, 2
"""The ratio from which on a range is wide, and that of gains under several costs of recording. Chosen by eye:
larger ones would leave wide ranges without a reason, smaller ones give a reason for most."""


@dataclass(frozen=True)
class Gain:
    """A window before and after a change, ns."""

    base_ns: int
    predicted_ns: int

    @property
    def gain_ns(self) -> int:
        """By how much it is shorter, ns."""
        return self.base_ns - self.predicted_ns

    @property
    def speedup(self) -> float:
        """How many times as fast it is; infinite if nothing is left."""
        return self.base_ns / self.predicted_ns if self.predicted_ns > 0 else float("inf")

    def times(self, factor: float) -> "Gain":
        """Multiply the gain in the same window, up to the whole window."""
        return Gain(self.base_ns, max(0, self.base_ns - round(self.gain_ns * factor)))

    def at_most(self, gain_ns: int) -> "Gain":
        """Limit the gain in the same window."""
        return Gain(self.base_ns, max(self.predicted_ns, self.base_ns - gain_ns))


@dataclass(frozen=True)
class Bound:
    """One end of a range, of the gain (ns) and of the speedup."""

    gain_ns: int
    speedup: float


def possible_range(likely: Sequence[Gain], removed: Sequence[int] = ()) -> tuple[Bound, Bound]:
    """Find the range that likely gains leave possible, lowest and highest, with what no replay knows.

    `removed`: for each gain the most that the change may remove, ns: nothing gains more.
    """
    most = removed or [gain.base_ns for gain in likely]
    possible = [
        gain.times(1 + by).at_most(ns)
        for gain, ns in zip(likely, most, strict=True)
        for by in (-_UNKNOWN, _UNKNOWN)
    ]
    gains_ns, speedups = [one.gain_ns for one in possible], [one.speedup for one in possible]
    return Bound(min(gains_ns), min(speedups)), Bound(max(gains_ns), max(speedups))


def spread_of_mean(values: Ints) -> float:
    """Find half the 95 % interval of a mean as a share of it; 0 for fewer than three values, or no mean."""
    mean = float(values.mean()) if len(values) >= _FEWEST_STEPS else 0.0
    if mean <= 0:
        return 0.0
    from scipy.special import stdtrit  # noqa: PLC0415  (takes .1 s, and is not needed without steps)

    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(stdtrit(len(values) - 1, 0.975)) * error / mean


def why_wide(
    low: Bound, high: Bound, gains: Mapping[str, Gain], doubted: Gain, inferred_part: float, held: Gain
) -> str:
    """Say in words why a range is more than tenfold; empty if it is not.

    `gains`: under each cost of recording. `doubted`: the gain as far as it does not depend on inferred
    dependencies, whose share of it is `inferred_part` (0..1). `held`: the gain if work from before the
    recording ends when it did.
    """
    if high.gain_ns <= max(0, _WIDE * low.gain_ns):
        return ""
    by_level = [gain.gain_ns for gain in gains.values()]
    reasons = []
    if doubted.gain_ns < min(by_level) or _WIDE * doubted.gain_ns < max(by_level):
        share = f"{100 * min(max(inferred_part, 0), 1):.0f} %"
        reasons.append(f"{share} of the gain hangs on inferred dependencies, which may be wrong")
    if max(by_level) > _LEVELS_DIFFER * min(by_level):
        reasons.append(
            "what recording cost is not known well: it is taken off what is removed, or off what is then "
            "critical"
        )
    if _WIDE * held.gain_ns < max(by_level):
        reasons.append(f"a GPU was still busy with {EARLIER_WORK}, which no earlier launch shortens")
    return "; ".join(reasons) or "the gain is small beside what a replay does not know"
