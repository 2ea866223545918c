"""Repetition against chance: does one thread go on just after another one ends something, again and again?"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracegraph.ingest.events import Flags, Ints

_ALPHA = 0.01
_TESTS_A_PAIR = 10
_RESOLUTION_NS = 1_000
_SHORTEST_NS = 100_000
_LEAST_OF_ONE = 2.0
_COLUMNS = ["lane", "by", "kind", "at_least", "longest", "seen", "evidence", "share"]


def believe_pairs(
    near: pd.DataFrame, stretches: pd.DataFrame, signals: npt.NDArray[np.int64], bounds: tuple[Ints, Ints]
) -> pd.DataFrame:
    """The pairs of threads (lane, by) of which the first goes on just after the second more than by chance.

    `near`: a row for each stretch of `lane` that ends `lag` ns after a signal of thread `by`, with its
    `length`, and the `kind` of the signal. `stretches`: all of them, by lane and length. `signals`: their
    number by kind and lane. `bounds`: first start and last end of each lane.
    Had the two nothing to do with each other, as many stretches would end just after a signal as the rate of
    the signals tells. `evidence` is minus the logarithm of a bound for the likelihood of as many as were seen
    (Poisson) where it is largest: for signals of one kind, stretches of a length of `at_least`, and a lag up
    to `longest`. `share`: the part of them that is beyond chance. A pair is believed if its evidence is more
    than one of that many pairs would show by chance; a single case is not enough. The evidence of both
    directions counts together where a stretch of one begins and ends with what the other does.
    """
    found = _weigh_pairs(near, stretches, signals, bounds)
    best = found.groupby(["lane", "by"])["evidence"].max()
    back = best.reindex(pd.MultiIndex.from_frame(found[["by", "lane"]])).fillna(0.0).to_numpy()
    needed = np.log(max(len(best), 1) * _TESTS_A_PAIR / _ALPHA)
    evidence = found["evidence"].to_numpy()
    alone = (evidence >= needed) & (found["seen"].to_numpy() > 1)
    both = (evidence + back >= needed) & (np.minimum(evidence, back) >= _LEAST_OF_ONE)
    believed: pd.DataFrame = found[alone | (both & _take_turns(near, found))].reset_index(drop=True)
    return believed


def _weigh_pairs(
    near: pd.DataFrame, stretches: pd.DataFrame, signals: npt.NDArray[np.int64], bounds: tuple[Ints, Ints]
) -> pd.DataFrame:
    """The columns of `believe_pairs` for every pair of threads and kind of signal in `near`."""
    lengths = {lane: np.sort(group.to_numpy()) for lane, group in stretches.groupby("lane")["length"]}
    first, last = bounds
    names = near[["lane", "by", "kind"]].to_numpy(np.int64)
    order = np.lexsort((near["lag"].to_numpy(), names[:, 2], names[:, 1], names[:, 0]))
    names = names[order]
    lag, length = (near[column].to_numpy(np.int64)[order] for column in ("lag", "length"))
    starts = np.flatnonzero(np.append(True, (names[1:] != names[:-1]).any(axis=1))[: len(names)])
    rows = []
    for low, high in zip(starts, np.append(starts, len(names))[1:], strict=True):
        lane, by, kind = names[low].tolist()
        rate = float(signals[kind, by] / (max(last[lane], last[by]) - min(first[lane], first[by])))
        rows.append((lane, by, kind, *_weigh(lag[low:high], length[low:high], lengths[lane], rate)))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _weigh(lag: Ints, length: Ints, lengths: Ints, rate: float) -> tuple[int, int, int, float, float]:
    """at_least, longest, seen, evidence and share of one pair; the coincidences are sorted by their lag."""
    level = _SHORTEST_NS * 2 ** np.arange(1 + int(np.log2(int(length.max()) / _SHORTEST_NS)))
    seen = np.cumsum(length >= level[:, None], axis=1)
    stretches = len(lengths) - np.searchsorted(lengths, level)
    expected = stretches[:, None] * rate * (lag + _RESOLUTION_NS)
    more = seen > expected
    evidence = np.where(more, seen * np.log(np.where(more, seen / expected, 1)) - seen + expected, 0)
    at, upto = np.unravel_index(int(np.argmax(evidence)), evidence.shape)
    many = int(seen[at, upto])
    share = max(0.0, 1 - float(expected[at, upto]) / max(many, 1))
    return int(level[at]), int(lag[upto]), many, float(evidence[at, upto]), share


def _take_turns(near: pd.DataFrame, found: pd.DataFrame) -> Flags:
    """Whether a stretch of one of each pair begins just before the other one begins, and ends just after it
    ends."""
    ended = near.rename(columns={"lane": "by", "by": "lane"})[["lane", "by", "cut"]]
    turns = near.merge(ended, left_on=["lane", "by", "start"], right_on=["lane", "by", "cut"])
    turned = {(lane, by) for lane, by in turns[["lane", "by"]].itertuples(index=False)}
    pairs = found[["lane", "by"]].itertuples(index=False)
    return np.array([(lane, by) in turned or (by, lane) in turned for lane, by in pairs], dtype=bool)
