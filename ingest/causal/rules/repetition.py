"""Tests repetition against chance: which stretches of a kind end just after, or before, GPU work does."""

from collections import Counter

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.rules.sureness import by_chance

REACH_NS = (100_000, 60_000)
"""How long before the end of a stretch work that explains it may end, and how long after it, because clocks
disagree or the work said before its end that it was done. Chosen by eye: a larger reach lets chance fit more
often, a smaller one misses waits where clocks are apart or a thread wakes late."""
_REACH_SHARE, _FURTHEST_NS = 0.02, 500_000
"""Around a long stretch the reach is this share of it, but at most `_FURTHEST_NS`. Chosen by eye: what a
thread does after a long wait may take longer, too, but half a millisecond is no longer the end of the
wait."""
_ALIKE_NS = (10_000, 20_000, 40_000)
"""Widths of windows of lags in which ends count as alike. Chosen by eye: lags vary by microseconds where the
thread spins, by tens of them where the system wakes it."""
_WIDER_NS = (80_000, 160_000, 320_000)
"""Wider windows, for stretches that last `_TIMES_WIDER` times as long as the window is wide. They go on
doubling as long as `_FURTHEST_NS` is larger."""
_TIMES_WIDER = 20
"""Ends of stretches that last twenty times as long may differ by more than 40 µs. Chosen by eye: a twentieth
of the stretch is then still small beside it."""
_CHANCE, _HARDLY, _SURE, _ONE = 0.05, 0.01, 0.95, 0.8
"""How likely chance may give a result at most: if the stretches fit, and on the stricter terms if they are
only close. Then the confidence before the share of chance is taken off, and that of a single case. The limits
are the usual levels of significance, 5 % and 1 %. The confidences are estimates: in simulations they are no
higher than the share that is true (benchmarks/results/calibration.md)."""
_CONDITIONS = (("fits", "least", _CHANCE), ("close", "least_close", _HARDLY))
"""Which column must hold, which column says how many must end alike then, and the limit of chance."""
_FEW = 3
"""Only if there are more cases than this, their number alone is tested first. That spares the search for
windows where even all cases together are not beyond chance; few cases may still be so near that the lag
itself counts (`_likelihood`)."""
_RESOLUTION_NS = 1_000
"""What is added to the lag of a single case, so that a lag of 0 has a chance, too. As fine as files of whole
microseconds state times."""
COLUMNS = ("silence", "work", "lag", "rate", "crowd", "fits", "close")
"""The columns of candidates: see `explained`."""


def reach(length: Ints) -> tuple[Ints, Ints]:
    """Calculate how long before and after the end of each stretch work that explains it may end, ns."""
    more = np.minimum((_REACH_SHARE * length).astype(np.int64), _FURTHEST_NS)
    return np.maximum(REACH_NS[0], more), np.maximum(REACH_NS[1], more)


def explained(streams: list[pd.DataFrame], kinds: pd.DataFrame, stretches: pd.DataFrame) -> pd.DataFrame:
    """Find candidates whose lag repeats on a stream in enough stretches of a kind, with `confidence`.

    Stretches end alike if their lags lie within 40 µs, or more if they last longer, and do so more often than
    by chance (Poisson, for all kinds, lags and streams). The confidence is the share that chance leaves.

    Parameters
    ----------
    streams
        For each stream a table of candidates: `silence` (number of the stretch), `work` (index of the event),
        `lag` (from the end of the work to that of the stretch, ns), `rate` (ends of work per ns of the
        stretch), `crowd` (how many more per ns around its end), `fits` (nothing speaks against it), `close`
        (something does, but the lag is a small part of the stretch).
    kinds
        For each `silence` its `kind`; the `name` that kinds share; `works`, whether it does work of its own;
        and how many must end alike: `least` if they fit, `least_close` if they are close.
    stretches
        `start` and `end` of each stretch, ns, by its number.
    """
    parts = [pd.DataFrame({name: [] for name in (*COLUMNS, "confidence")})]
    frames = [_near(found, kinds, stretches) for found in streams]
    tests = sum(frame["kind"].nunique() for frame in frames)
    names = sum(frame["name"].nunique() for frame in frames)
    for frame in frames:
        near = frame[frame["near"]]
        groups = near.groupby("kind")
        least = groups[["least", "least_close"]].first().min(axis=1)
        many = groups["silence"].nunique() >= least
        for kind, same in near[near["kind"].isin(many.index[many])].groupby("kind"):
            everything = frame[frame["kind"] == kind].drop_duplicates("silence")
            parts.append(_most_alike(same, everything, tests, names))
    return pd.concat(parts)


def _near(found: pd.DataFrame, kinds: pd.DataFrame, stretches: pd.DataFrame) -> pd.DataFrame:
    """Join the candidates with their kinds, and mark those that are near enough to the stretch's end."""
    frame = found.merge(kinds, on="silence")
    length = (stretches["end"] - stretches["start"]).to_numpy(np.int64)[frame["silence"]]
    before, after = reach(length)
    lag = frame["lag"].to_numpy(np.int64)
    return frame.assign(length=length, near=(lag <= before) & (lag >= -after))


def _most_alike(near: pd.DataFrame, everything: pd.DataFrame, tests: int, names: int) -> pd.DataFrame:
    """Find the candidates of one kind that chance explains least; none if chance explains them."""
    best, least_likely = near.iloc[:0].assign(confidence=0.0), 1.0
    near = near.sort_values("lag", kind="stable")
    for width in (*_ALIKE_NS, *_WIDER_NS):
        if width in _WIDER_NS:
            near = near[near["length"] >= _TIMES_WIDER * width]
            everything = everything[everything["length"] >= _TIMES_WIDER * width]
        expected = float((everything["rate"] * width).clip(upper=1).sum())
        for condition, least, most in _CONDITIONS:
            same = near[near[condition]]
            many = same["silence"].nunique()
            if not many or many < same[least].iloc[0]:
                continue
            if many > _FEW and by_chance(many, expected) * tests > most:
                continue
            alike = _alike(same, width)
            if len(alike) < same[least].iloc[0]:
                continue
            chance, confidence = _likelihood(alike, expected, width, tests, names, least)
            if chance <= min(most, least_likely):
                best, least_likely = _with_more(alike, same).assign(confidence=confidence), chance
    return best


def _with_more(alike: pd.DataFrame, candidates: pd.DataFrame) -> pd.DataFrame:
    """Add candidates as near to the usual lag of the believed ones as ends may differ, one per stretch."""
    distance = (candidates["lag"] - alike["lag"].median()).abs()
    tolerance = (candidates["length"] / (2 * _TIMES_WIDER)).clip(_ALIKE_NS[-1] / 2, _WIDER_NS[-1] / 2)
    near = candidates.assign(distance=distance)[distance <= tolerance]
    found = pd.concat([alike, near.sort_values("distance", kind="stable").drop(columns="distance")])
    return found.drop_duplicates("silence")


def _likelihood(
    alike: pd.DataFrame, expected: float, width: int, tests: int, names: int, least: str
) -> tuple[float, float]:
    """Calculate how likely as many alike are by chance in all tests, and the confidence of each.

    A stretch that works may do the same each time, and last as long, behind GPU work that does so, too. So
    stretches of one length are one case, and if there is no other case, the lag itself must be small.
    """
    first, hits = alike.iloc[0], len(alike)
    if first["works"]:
        hits = len(np.unique(alike["length"].to_numpy(np.int64) // width))
        if hits == 1:
            once = float((alike["rate"] * (alike["lag"].abs() + _RESOLUTION_NS)).clip(upper=1).mean())
            return (once * names if len(alike) == 1 or least == "least" else 1.0), _ONE
        if hits < first[least]:
            return 1.0, 0.0
    furthest = reach(alike["length"].to_numpy(np.int64))
    lags = max(int((furthest[0] + furthest[1]).max()) / width, 1)
    chance = by_chance(hits, expected * hits / len(alike)) * lags * tests
    return chance, _SURE * (1 - min(expected / len(alike), 1))


def _alike(near: pd.DataFrame, width: int) -> pd.DataFrame:
    """Find the window of lags with most stretches; of each stretch keep what is nearest to its median."""
    lag, silence = near["lag"].tolist(), near["silence"].tolist()
    inside: Counter[int] = Counter()
    most, begin, first, last = 0, 0, 0, 0
    for end in range(len(lag)):
        inside[silence[end]] += 1
        while lag[end] - lag[begin] > width:
            inside[silence[begin]] -= 1
            if not inside[silence[begin]]:
                del inside[silence[begin]]
            begin += 1
        if len(inside) > most:
            most, first, last = len(inside), begin, end + 1
    chosen = near.iloc[first:last]
    distance = (chosen["lag"] - chosen["lag"].median()).abs()
    return chosen.iloc[np.argsort(distance.to_numpy(), kind="stable")].drop_duplicates("silence")
