"""Gains of a change, and how far they may be off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_UNKNOWN = 0.1
"""Share of a gain by which it differs from one measurement of the same change to the next."""
_WIDE, _LEVELS_DIFFER = 10, 2
"""By how much a range is wide, and gains under several costs of recording differ."""


@dataclass(frozen=True)
class Gain:
    """A window before and after a change, ns."""

    base_ns: int
    predicted_ns: int

    @property
    def gain_ns(self) -> int:
        """By how much it is shorter."""
        return self.base_ns - self.predicted_ns

    @property
    def speedup(self) -> float:
        """How many times as fast it is; infinite where nothing is left."""
        return self.base_ns / self.predicted_ns if self.predicted_ns > 0 else float("inf")

    def times(self, factor: float) -> "Gain":
        """Return the same window with a multiple of the gain, at most all of it."""
        return Gain(self.base_ns, max(0, self.base_ns - round(self.gain_ns * factor)))

    def at_most(self, gain_ns: int) -> "Gain":
        """Return the same window with a gain that is not larger."""
        return Gain(self.base_ns, max(self.predicted_ns, self.base_ns - gain_ns))


@dataclass(frozen=True)
class Bound:
    """One end of a range, of the gain (ns) and of the speedup."""

    gain_ns: int
    speedup: float


def possible_range(likely: Sequence[Gain], removed: Sequence[int] = ()) -> tuple[Bound, Bound]:
    """Widen a range of likely gains, lowest and highest, by what a replay does not know.

    `removed`: for each of them how long all that takes no time any more took, ns: nothing gains more.
    """
    most = removed or [gain.base_ns for gain in likely]
    possible = [
        gain.times(1 + by).at_most(ns)
        for gain, ns in zip(likely, most, strict=True)
        for by in (-_UNKNOWN, _UNKNOWN)
    ]
    gains_ns, speedups = [one.gain_ns for one in possible], [one.speedup for one in possible]
    return Bound(min(gains_ns), min(speedups)), Bound(max(gains_ns), max(speedups))


def why_wide(low: Bound, high: Bound, gains: Mapping[str, Gain], doubted: Gain, inferred_part: float) -> str:
    """Why a range is more than tenfold, in words; empty where it is not.

    `gains`: under each cost of recording. `doubted`: as far as it does not hang on inferred dependencies,
    whose part of it is `inferred_part`.
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
    return "; ".join(reasons) or "the gain is small beside what a replay does not know"
