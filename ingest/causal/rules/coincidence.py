"""Repetition against chance: does one thread go on again and again just after another ends something."""

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.rules.threads.silence import SHORTEST_SILENCE_NS

_ALPHA = 0.01
"""Chance may make a pair of threads believed in one of a hundred files. The usual level of significance for
what must not be wrong."""
_TESTS_A_PAIR = 10
"""As how many tests a pair counts, whose evidence is the best over kinds, least lengths and longest lags.
Chosen by eye: far more are tried, but neighbouring lengths and lags are nearly the same test."""
_RESOLUTION_NS = 1_000
"""What is added to each lag, so that a lag of 0 has a chance, too. As fine as files of whole microseconds
state times."""
_LEAST_OF_ONE = 2.0
"""The least evidence of each direction alone if both together make a pair believed. Chance alone shows that
much about once in seven times, exp(-2): each direction must at least lean towards it."""
_NAMES = ["lane", "by", "kind"]


def believe_pairs(
    near: pd.DataFrame, stretches: pd.DataFrame, signals: Ints, bounds: tuple[Ints, Ints]
) -> pd.DataFrame:
    """Keep the rows of `near` of threads of which one goes on just after the other more than by chance.

    `near`: a row for each stretch of `lane` that ends `lag` ns after a signal of thread `by`, with its
    `length`, and the `kind` of the signal. `stretches`: all of them, by lane and length. `signals`: their
    number by kind and lane. `bounds`: first start and last end of each lane.
    Had the two nothing to do with each other, as many stretches would end just after a signal as the rate of
    the signals tells. The evidence is minus the logarithm of a bound for the likelihood of as many as were
    seen (Poisson) where it is largest: for signals of one kind, stretches of a least length and a longest
    lag. A pair is believed if it is more than one of that many pairs would show by chance; a single case is
    not enough. The evidence of both directions counts together where a stretch of one begins and ends with
    what the other does. Added are `seen`, the number of those cases, and `share`, the part of them that is
    beyond chance; for rows beyond the longest lag or below the least length that of what they add.
    """
    near = _weigh_pairs(near, stretches, signals, bounds)
    found = near.drop_duplicates(_NAMES)
    best = found.groupby(["lane", "by"])["evidence"].max()
    back = best.reindex(pd.MultiIndex.from_frame(found[["by", "lane"]])).fillna(0.0).to_numpy()
    needed = np.log(max(len(best), 1) * _TESTS_A_PAIR / _ALPHA)
    evidence = found["evidence"].to_numpy()
    alone = (evidence >= needed) & (found["seen"].to_numpy() > 1)
    both = (evidence + back >= needed) & (np.minimum(evidence, back) >= _LEAST_OF_ONE)
    believed = found.loc[alone | (both & _take_turns(near, found)), _NAMES]
    rows: pd.DataFrame = near.merge(believed, on=_NAMES).drop(columns="evidence")
    return rows


def _weigh_pairs(
    near: pd.DataFrame, stretches: pd.DataFrame, signals: Ints, bounds: tuple[Ints, Ints]
) -> pd.DataFrame:
    """Return the rows by pair of threads, kind and lag, with `evidence`, `seen` and `share`."""
    lengths = {lane: np.sort(group.to_numpy()) for lane, group in stretches.groupby("lane")["length"]}
    first, last = bounds
    near = near.sort_values([*_NAMES, "lag"], kind="stable", ignore_index=True)
    names = near[_NAMES].to_numpy(np.int64)
    lag, length = near["lag"].to_numpy(np.int64), near["length"].to_numpy(np.int64)
    starts = np.flatnonzero(np.append(True, (names[1:] != names[:-1]).any(axis=1))[: len(names)])
    evidence, seen, share = (np.zeros(len(near)) for _ in range(3))
    for low, high in zip(starts, np.append(starts, len(names))[1:], strict=True):
        lane, by, kind = names[low].tolist()
        rate = float(signals[kind, by] / (max(last[lane], last[by]) - min(first[lane], first[by])))
        rows = slice(int(low), int(high))
        evidence[rows], seen[rows], share[rows] = _weigh(lag[rows], length[rows], lengths[lane], rate)
    return near.assign(evidence=evidence, seen=seen, share=share)


def _weigh(lag: Ints, length: Ints, lengths: Ints, rate: float) -> tuple[float, int, Floats]:
    """Evidence, number of cases and share of each row for one pair; the rows are sorted by their lag."""
    level = SHORTEST_SILENCE_NS * 2 ** np.arange(1 + int(np.log2(int(length.max()) / SHORTEST_SILENCE_NS)))
    seen = np.cumsum(length >= level[:, None], axis=1)
    stretches = len(lengths) - np.searchsorted(lengths, level)
    expected = stretches[:, None] * rate * (lag + _RESOLUTION_NS)
    more = seen > expected
    evidence = np.where(more, seen * np.log(np.where(more, seen / expected, 1)) - seen + expected, 0)
    at, upto = np.unravel_index(int(np.argmax(evidence)), evidence.shape)
    many, by_chance = int(seen[at, upto]), float(expected[at, upto])
    own = np.minimum(np.searchsorted(level, length, "right") - 1, at), np.maximum(np.arange(len(lag)), upto)
    added = 1 - (expected[own] - by_chance) / np.maximum(seen[own] - many, 1)
    core = (length >= level[at]) & (lag <= lag[upto])
    return float(evidence[at, upto]), many, np.where(core, 1 - by_chance / max(many, 1), added).clip(0)


def _take_turns(near: pd.DataFrame, found: pd.DataFrame) -> Flags:
    """Tell whether a stretch of one of each pair begins just before one of the other and ends after it."""
    ended = near.rename(columns={"lane": "by", "by": "lane"})[["lane", "by", "cut"]]
    turns = near.merge(ended, left_on=["lane", "by", "start"], right_on=["lane", "by", "cut"])
    turned = {(lane, by) for lane, by in turns[["lane", "by"]].itertuples(index=False)}
    pairs = found[["lane", "by"]].itertuples(index=False)
    return np.array([(lane, by) in turned or (by, lane) in turned for lane, by in pairs], dtype=bool)
