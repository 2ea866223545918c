"""Rule 7: the GPU's clock against the CPU's, within a rank, by causality.

The drift is the line along which most lags are short. Lags are long for many reasons, and some pairs are
wrong; but the shortest lags of a file repeat. So a lag supports a lower edge the more, the closer it lies
above the edge, and a lag below the edge counts against it.
"""

from dataclasses import dataclass, replace

import numpy as np

from tracegraph.ingest.arrays import Floats, Ints
from tracegraph.ingest.causal.clock.pairs import Pairs, launch_pairs, wait_pairs
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.launches.awaited_work import HostWaits
from tracegraph.ingest.causal.launches.launches import USUAL_LATE_LAUNCH_NS, USUAL_LAUNCH_NS, Launches
from tracegraph.ingest.integrity_findings import Integrity

_NEAR_NS = 5_000.0
"""How far above an edge a lag may lie to support it: its support falls from 1 at the edge to 0 here. The
shortest lags differ by a few microseconds (`USUAL_LAUNCH_NS` and `_USUAL_RETURN_NS` say by how much). Chosen
by eye: a larger one blurs the edge, with a smaller one too few lags support it."""
_AGAINST = 0.5
"""What a lag below an edge counts against it: less than a lag on the edge counts for it, because wrong pairs
(ids used again, guessed streams) fall below. The half was chosen by eye, between not counting them and
counting them as much as the others."""
_LARGEST_DRIFT = 300e-6
"""The largest drift that is searched: 300 ppm, since quartz oscillators keep within about 100 ppm each."""
_MOST_STEPS = 400
"""How many coarse steps the search for the drift takes at most, both directions together. A step changes the
lags by a quarter of `_NEAR_NS` over the whole span, so the drift is bounded by ±250 µs in all, too."""
_BETTER = 1.2
"""A drift is kept if it scores a fifth better than no drift at all: of so many slopes noise makes one score a
little better."""
_PARTS, _PER_PART = 32, 64
"""The fit takes the 64 shortest lags of each of 32 equal parts of the time: only short lags bear on the
edges, every part counts, and the cost has a bound."""
_LEAST_PAIRS = 8
"""With fewer pairs no drift is looked for: a line through a few lags follows their noise."""
_USUAL_RETURN_NS = 4_000
"""How long it usually takes from the end of awaited work to the return of the call that waits. Of recorded
files with 18 waits or more, their clocks unmoved, four have a 5 % quantile of 2.0 to 5.5 µs and a median of 6
to 7 µs; in the fifth, of an MI300, calls return far later (219 and 805 µs)."""
_FURTHEST_APART_NS = -15_000
"""How far the edges of launches and returns may contradict each other, since both are noisy; beyond that the
lags are no clock's, and none is put right. Three times `_NEAR_NS`, chosen by eye: a larger one would move the
clocks of files whose lags are not theirs, a smaller one leave more of the noisy ones wrong."""


@dataclass(frozen=True)
class Fit:
    """The shortest lags that repeat, as of the window's start; infinite without such pairs.

    Attributes
    ----------
    launch_ns, late_launch_ns
        From a launch call's start to the start of its work, and from the call's end.
    by_end
        Whether the latter repeats better.
    return_ns
        From the end of awaited work to the return of the call.
    drift_ppb
        How many ns per second the GPU's rows must move in addition.
    """

    launch_ns: float
    late_launch_ns: float
    by_end: bool
    return_ns: float
    drift_ppb: int


def fit_clock(launched: Pairs, launched_late: Pairs, awaited: Pairs) -> Fit:
    """Find the drift, of up to 300 ppm, at which most lags are short, and these shortest lags.

    `launched_late`: as `launched`, but from the calls' ends. The drift is 0 if the lags without one score
    nearly as well.
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
        """Apply `_edge` to each kind of pairs under a drift."""
        kinds = ((self.launched, slope), (self.launched_late, slope), (self.awaited, -slope))
        return [_edge(pairs.lag + more * pairs.time) for pairs, more in kinds]

    def score(self, slope: float) -> float:
        """Score how well the shortest lags repeat under a drift."""
        from_start, from_end, back = self.edges(slope)
        return max(from_start[0], from_end[0]) + back[0]


def _find_drift(sides: _Sides) -> float:
    times = np.concatenate([sides.launched.time, sides.awaited.time])
    span = float(np.ptp(times)) if len(times) >= _LEAST_PAIRS else 0.0
    if span <= 0:
        return 0.0
    step = _NEAR_NS / 4 / span
    count = int(min(_LARGEST_DRIFT / step, _MOST_STEPS / 2))
    # A coarse search, then one of ten times its resolution around the best step, one step to both sides.
    coarse = max((np.arange(-count, count + 1) * step).tolist(), key=sides.score)
    best = max((coarse + np.arange(-10, 11) * step / 10).tolist(), key=sides.score)
    return float(best) if sides.score(best) > _BETTER * sides.score(0.0) else 0.0


def _shortest(pairs: Pairs) -> Pairs:
    """Keep the pairs with the shortest lags of each part of the time."""
    if not len(pairs.lag):
        return pairs
    part = (pairs.time - pairs.time.min()) * _PARTS // (np.ptp(pairs.time) + 1)
    order = np.lexsort((pairs.lag, part))
    begins = np.searchsorted(part[order], part[order])
    chosen = order[np.arange(len(order)) - begins < _PER_PART]
    return Pairs(pairs.time[chosen], pairs.lag[chosen])


def _edge(lags: Floats) -> tuple[float, float]:
    """Find the score of the best lower edge, and the edge: lags just above it count by how near they are."""
    if not len(lags):
        return 0.0, np.inf
    lags = np.sort(lags)
    # Lags are counted from the first one: sums of large floats would lose precision.
    total = np.concatenate([[0.0], np.cumsum(lags - lags[0])])
    below = np.arange(len(lags))
    until = np.searchsorted(lags, lags + _NEAR_NS, "right")
    above = until - below
    beyond = total[until] - total[below] - above * (lags - lags[0])
    scores = above - beyond / _NEAR_NS - _AGAINST * below
    best = int(scores.argmax())
    return float(scores[best]), float(lags[best])


@dataclass(frozen=True)
class GpuClock:
    """What to add to GPU rows: `offset_ns` at the time `since_ns`, and `drift_ppb` ns more each second.

    (1 ppb of a second is 1 ns.)
    """

    offset_ns: int = 0
    drift_ppb: int = 0
    since_ns: int = 0

    def at(self, time_ns: int) -> "GpuClock":
        """Express the same correction from another moment on."""
        more = round((time_ns - self.since_ns) * (self.drift_ppb * 1e-9))
        return GpuClock(self.offset_ns + more, self.drift_ppb, time_ns)

    def moves(self, time_ns: Ints) -> Ints:
        """Calculate by how much a row of the GPU is moved at each time, ns."""
        more: Ints = np.rint((time_ns - self.since_ns) * (self.drift_ppb * 1e-9)).astype(np.int64)
        return self.offset_ns + more

    def put_right(self, events: Events) -> Events:
        """Move all rows of the GPU's clock onto the CPU's."""
        return events.shift_gpu(self.offset_ns, self.drift_ppb, self.since_ns)


def gpu_clock(
    events: Events, launches: Launches, waits: HostWaits, since_ns: int, integrity: Integrity
) -> GpuClock:
    """Find the correction by which no work precedes its call and no awaited end follows the return.

    Nothing is moved if no order is contradicted, since usual lags differ from GPU to GPU, or if no correction
    mends at least half of the contradictions: then these are wrong pairs. Else the drift is the one at which
    most lags are short, and the offset, of those that this leaves, the one that makes lags usual.

    Parameters
    ----------
    since_ns
        The time at which the offset holds.
    integrity
        Gets a finding if an order is contradicted, whether or not the correction mends it.
    """
    launched, launched_late = launch_pairs(events, launches, since_ns)
    awaited = wait_pairs(events, launches, waits, since_ns)
    early, late = _contradictions(launched, awaited, GpuClock())
    if not early + late:
        return GpuClock()
    fit = fit_clock(launched, launched_late, awaited)
    clock, left = _best_clock(fit, launched, awaited, (early, late), since_ns)
    if 2 * left > early + late:
        message = (
            f"{early + late} of {len(launched.lag) + len(awaited.lag)} pairs of a call and its GPU work "
            "contradict the CPU's order of events, and no offset and drift of the GPU's clock mends that"
        )
        integrity.add("gpu_clock_inconsistent", early + late, message)
        return GpuClock()
    drift = f" at the window's start, and {clock.drift_ppb} ns more each second" if clock.drift_ppb else ""
    rest = f"; {left} of {early + late} contradictions stay" if left else ""
    message = f"GPU rows contradict the CPU's order of events: all are moved by {clock.offset_ns} ns"
    integrity.add("gpu_clock_shifted", early + late, message + drift + rest)
    return clock


def _best_clock(
    fit: Fit, launched: Pairs, awaited: Pairs, contradictions: tuple[int, int], since_ns: int
) -> tuple[GpuClock, int]:
    """Find the likeliest correction, and how many of the early and late `contradictions` it leaves.

    If that is more than half of them, the other end of launch calls dates the launches, should it mend more:
    works that stand in a queue may repeat a lag from a call's end that says nothing of the clock.
    """
    early, late = contradictions
    clock = _likeliest(fit, early >= late, since_ns)
    left = sum(_contradictions(launched, awaited, clock))
    if 2 * left <= early + late or not np.isfinite(fit.launch_ns if fit.by_end else fit.late_launch_ns):
        return clock, left
    other = _likeliest(replace(fit, by_end=not fit.by_end), early >= late, since_ns)
    left_by_other = sum(_contradictions(launched, awaited, other))
    return (other, left_by_other) if left_by_other < left else (clock, left)


def _contradictions(launched: Pairs, awaited: Pairs, clock: GpuClock) -> tuple[int, int]:
    """Count the work that precedes its call, and the awaited ends that follow the return."""
    early = launched.lag + clock.offset_ns + launched.time * (clock.drift_ppb * 1e-9) < 0
    late = awaited.lag - clock.offset_ns - awaited.time * (clock.drift_ppb * 1e-9) < 0
    return int(early.sum()), int(late.sum())


def _likeliest(fit: Fit, is_early: bool, since_ns: int) -> GpuClock:
    """Choose the correction within the range that the lags leave.

    The range that both kinds of pairs leave open is divided in proportion to the usual lags of launches and
    returns. If it is wider than both usual lags together, only the kind that is contradicted gets its usual
    lag. No correction is made if the two edges contradict each other by more than 15 µs.
    """
    if fit.launch_ns + fit.return_ns < _FURTHEST_APART_NS:
        return GpuClock()
    by_end = fit.by_end and fit.late_launch_ns + fit.return_ns >= 0
    launch = fit.late_launch_ns if by_end else fit.launch_ns
    usual = USUAL_LATE_LAUNCH_NS if by_end else USUAL_LAUNCH_NS
    share = min(1.0, (launch + fit.return_ns) / (usual + _USUAL_RETURN_NS))
    offset = share * usual - launch if share < 1 or is_early else fit.return_ns - _USUAL_RETURN_NS
    return GpuClock(round(offset), fit.drift_ppb, since_ns)
