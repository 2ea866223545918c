"""Repetition against chance: which stretches of a kind end just after, or before, work of the GPU does."""

from collections import Counter

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.rules.sureness import by_chance

REACH_NS = (100_000, 60_000)
"""How long before the end of a stretch work may end that explains it, and after it, where clocks disagree or
the work said before its end that it was done."""
_REACH_SHARE, _FURTHEST_NS = 0.02, 500_000
"""An end is near that of a stretch within that part of its length, at most that long."""
_ALIKE_NS = (10_000, 20_000, 40_000)
"""Windows in which the lags of one kind may lie: what wakes a thread takes about as long each time."""
_WIDER_NS = (80_000, 160_000, 320_000)
"""Wider windows, only for stretches that are much longer than these."""
_TIMES_WIDER = 20
"""Ends of stretches that last twenty times as long may differ by more than 40 µs."""
_CHANCE, _HARDLY, _SURE, _ONE = 0.05, 0.01, 0.95, 0.8
"""Largest chance for several of a kind, and for close ends; confidence if it is excluded, and of a single
one."""
_CONDITIONS = (("fits", "least", _CHANCE), ("close", "least_close", _HARDLY))
_FEW = 3
"""Above so many candidates in a window, more than chance gives are needed."""
_RESOLUTION_NS = 1_000
"""Times may be whole µs, so that a lag of 0 may be 1 µs."""
COLUMNS = ("silence", "work", "lag", "rate", "crowd", "fits", "close")


def reach(length: Ints) -> tuple[Ints, Ints]:
    """How long before the end of each stretch, and after it, work may end that explains it, ns."""
    more = np.minimum((_REACH_SHARE * length).astype(np.int64), _FURTHEST_NS)
    return np.maximum(REACH_NS[0], more), np.maximum(REACH_NS[1], more)


def explained(streams: list[pd.DataFrame], kinds: pd.DataFrame, stretches: pd.DataFrame) -> pd.DataFrame:
    """Candidates whose lag repeats on a stream, in enough stretches of a kind, with `confidence`.

    `streams`: for each stream rows of `silence`, `work`, `lag` (from the end of the work to that of the
    stretch, ns), `rate` (ends in each ns of the stretch), `crowd` (how many more around its end), `fits`
    (nothing speaks against it), `close` (something does, but the lag is a small part of the stretch).
    `kinds`: which `silence` is of which `kind`; the `name` that kinds share; `works`, whether they do work of
    their own; how many must end alike where they fit, `least`, and where they are close, `least_close`.
    Alike is within 40 µs of one lag, more where they last longer, and more often than by chance (Poisson, for
    all kinds, lags and streams). The confidence is the share that chance leaves.
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
    """Return the candidates by kind, and which of them are near enough."""
    frame = found.merge(kinds, on="silence")
    length = (stretches["end"] - stretches["start"]).to_numpy(np.int64)[frame["silence"]]
    before, after = reach(length)
    lag = frame["lag"].to_numpy(np.int64)
    return frame.assign(length=length, near=(lag <= before) & (lag >= -after))


def _most_alike(near: pd.DataFrame, everything: pd.DataFrame, tests: int, names: int) -> pd.DataFrame:
    """Return the candidates of one kind that chance explains least; none where it explains them."""
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
    """Keep what is as near to the usual lag of those believed as ends may differ, the nearest of each."""
    distance = (candidates["lag"] - alike["lag"].median()).abs()
    tolerance = (candidates["length"] / (2 * _TIMES_WIDER)).clip(_ALIKE_NS[-1] / 2, _WIDER_NS[-1] / 2)
    near = candidates.assign(distance=distance)[distance <= tolerance]
    found = pd.concat([alike, near.sort_values("distance", kind="stable").drop(columns="distance")])
    return found.drop_duplicates("silence")


def _likelihood(
    alike: pd.DataFrame, expected: float, width: int, tests: int, names: int, least: str
) -> tuple[float, float]:
    """How likely as many alike are by chance in all tests, and how sure one may be of each.

    What works may do the same each time, and last as long, behind GPU work that does so, too: stretches of
    one length are one case, and where there is no other one, the lag itself must be small.
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
    """Keep the candidates in the window of lags with most stretches, the nearest to their median of each."""
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
