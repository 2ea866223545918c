"""Close races between causes of GPU work, decided by how likely each observed lag is.

Launch latencies and stream gaps vary by microseconds. Where two causes arrive that close, the one with the
later usual arrival need not be the one that the work waited for: a start is max(c1 + l1, c2 + l2), and cause
1 is the binding one with a likelihood of f1(g1) F2(g2), where g are the observed lags and f, F the density
and the distribution of each rule's lag. The ratio for two causes is that of their reverse hazard rates f/F.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.segments import Segments
from tracegraph.vocabulary.mechanisms import CODE, LAUNCH, MECHANISMS

_LAUNCH = CODE[LAUNCH]
_RULES = tuple(CODE[mechanism.name] for mechanism in MECHANISMS if mechanism.races)
_CLEAR_NS = 15_000
"""A cause that comes last by that much is the cause whatever the lags are: from these they are fitted."""
_CLOSE_NS = 20_000
"""Causes that come within that time race; lags of launches and streams spread over some µs."""
_LONGEST_NS = 50_000
"""After a longer gap something else delayed the start: it says nothing of the usual lag."""
_LEAST_SAMPLES = 12
"""With fewer clear cases the prior around the usual lag is kept."""
_PRIOR = 0.4 + 0.3 * np.array([-1.1, -0.4, 0.0, 0.4, 1.1])
"""What stands for a rule seen too seldom: logarithms of lags to its usual one, which is a low quantile."""
_LONGEST_ODDS = 5.0
"""Logarithm of the odds: a lag so long is shown once in 150 times by its rule, and no race any more."""
_MODESTY = 1.7
"""Of favourites with a share of .55 two in five were right in simulated races, of those with .83 .73."""
_LIKE_ANY_LAG_NS = 10_000
"""If a rule's lags are not known, a race is open up to this one."""


@dataclass(frozen=True)
class Verdict:
    """For each candidate: `favoured`, the likeliest of a close race; `open_race`, in one not clear.

    `share`: how likely it is the cause among those of its race, somewhat less in close ones; 1 outside.
    """

    favoured: Flags
    open_race: Flags
    share: Floats


def judge(
    segments: Segments,
    mechanism: Ints,
    recorded: Flags,
    cause: Ints,
    effect: Ints,
    gap: Ints,
    arrival: Ints,
) -> Verdict:
    """Decide the races among launches, stream order and stream waits whose arrivals are within 20 µs.

    The candidates are sorted by effect. The lags of each rule are taken as log-logistic; median and spread
    come from the starts for which its cause came 15 µs after all others; where these are fewer than 12, they
    are taken together with lags around the usual one. A launch from inside its call, or without a row, has no
    lag that could be observed: it may have come at any moment since that stretch of the thread began. A race
    is open where the lags of two causes are such as their rules show more than once in 150 times, or at most
    10 µs where that is not known.
    """
    group = np.cumsum(np.append(True, effect[1:] != effect[:-1])[: len(effect)]) - 1
    runs, inside = _measurable(segments, mechanism, recorded, cause, effect)
    usual = arrival - segments.completion[cause]
    fits = _fit(segments, mechanism, cause, effect, gap, usual, runs, inside & recorded)
    latest = _largest(arrival, group)
    near = (runs | inside) & (arrival >= latest[group] - _CLOSE_NS)
    runs &= near & np.isin(mechanism, list(fits))
    odds, hazard = _weigh(fits, mechanism, gap, runs)
    anytime = inside & near
    since = segments.start[effect] - segments.start[cause]
    hazard[anytime] = -np.log(np.maximum(since[anytime], 1))
    odds[anytime] = 0
    runs |= anytime
    # The race is only judged if its favourite by arrival takes part.
    leads = _largest(np.where(runs, arrival, NONE), group) == latest
    contested = runs & leads[group]
    contested &= _count(contested, group) > 1
    best = _largest(np.where(contested, hazard, -np.inf), group)[group]
    favoured = contested & (hazard == best)
    weight = np.zeros(len(effect))
    weight[contested] = np.exp(hazard[contested] - best[contested])
    share = np.where(contested, weight / np.maximum(np.bincount(group, weight)[group], 1), 1) ** _MODESTY
    twice = _count(favoured, group) > 1
    plausible = near & np.where(runs, odds < _LONGEST_ODDS, gap <= _LIKE_ANY_LAG_NS)
    open_race = near & (_count(plausible, group) > 1)
    return Verdict(favoured & ~twice, open_race, share)


def _count(chosen: Flags, group: Ints) -> Ints:
    """How many of each candidate's group are chosen."""
    counts: Ints = np.bincount(group, chosen).astype(np.int64)[group]
    return counts


def _largest(values: npt.NDArray[Any], group: Ints) -> npt.NDArray[Any]:
    """Return the largest value of each group."""
    if not len(group):
        return values
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    largest: npt.NDArray[Any] = np.maximum.reduceat(values, first)
    return largest


def _measurable(
    segments: Segments, mechanism: Ints, recorded: Flags, cause: Ints, effect: Ints
) -> tuple[Flags, Flags]:
    """Candidates of GPU work whose lag begins at the end of a call or work; and launches from inside one."""
    on_gpu = ~segments.on_thread[effect] & (segments.event[effect] >= 0)
    following = np.minimum(cause + 1, len(segments) - 1)
    goes_on = (segments.event[following] == segments.event[cause]) & (following > cause)
    inside = (goes_on | ~recorded) & segments.on_thread[cause] & (mechanism == _LAUNCH) & on_gpu
    return on_gpu & np.isin(mechanism, _RULES) & ~inside, inside


@dataclass(frozen=True)
class _Lags:
    """How the lags of a rule are spread: log-logistic, after a share that has none at all."""

    median: float
    scale: float
    without: float
    resolution: int


def _fit(
    segments: Segments,
    mechanism: Ints,
    cause: Ints,
    effect: Ints,
    gap: Ints,
    usual: Ints,
    runs: Flags,
    inside: Flags,
) -> dict[int, _Lags]:
    """Fit the lags of each rule to its clear cases, with a prior around its usual lag if these are few."""
    alone = _clear_winners(segments, cause, effect) & (gap <= _LONGEST_NS)
    resolution = 50 if (gap[runs] % 1000).any() else 500
    fits = {}
    for rule in _RULES:
        mine = runs & (mechanism == rule)
        samples = np.log(gap[mine & alone] + resolution)
        if len(samples) < _LEAST_SAMPLES:
            known = usual[mine & (usual > 0)]
            if not len(known):
                continue
            samples = np.append(samples, np.log(np.median(known) + resolution) + _PRIOR)
        # The scale of a logistic distribution from its quartiles, which lie no closer than times are written.
        low, median, high = np.quantile(samples, [0.25, 0.5, 0.75])
        spread = max(float(high - low), resolution / float(np.exp(median)))
        early = int((inside & alone).sum()) if rule == _LAUNCH else 0
        scale = spread / (2 * float(np.log(3)))
        fits[rule] = _Lags(float(median), scale, early / (early + len(samples)), resolution)
    return fits


def _weigh(fits: dict[int, _Lags], mechanism: Ints, gap: Ints, chosen: Flags) -> tuple[Floats, Floats]:
    """Log-odds that a lag of the rule is shorter than the observed one, and the logarithm of f/F there."""
    odds, hazard = np.full(len(gap), np.inf), np.full(len(gap), -np.inf)
    for rule, lags in fits.items():
        mine = chosen & (mechanism == rule)
        lag = np.log(gap[mine] + lags.resolution)
        odds[mine] = (lag - lags.median) / lags.scale
        log_shorter = -np.logaddexp(0, -odds[mine])
        log_density = 2 * log_shorter - odds[mine] - np.log(lags.scale) - lag
        log_without = np.log(lags.without / (1 - lags.without)) if lags.without else -np.inf
        hazard[mine] = log_density - np.logaddexp(log_without, log_shorter)
    return odds, hazard


def _clear_winners(segments: Segments, cause: Ints, effect: Ints) -> Flags:
    """Candidates that were complete 15 µs after all others of their effect."""
    done = segments.completion[cause]
    order = np.lexsort((done, effect))
    last = np.append(effect[order][1:] != effect[order][:-1], True)[: len(order)]
    same = np.append(False, effect[order][1:] == effect[order][:-1])[: len(order)]
    before = np.append(NONE, done[order][:-1])[: len(order)]
    clear = last & (~same | (done[order] - np.where(same, before, 0) >= _CLEAR_NS))
    winners = np.zeros(len(effect), dtype=bool)
    winners[order[clear]] = True
    return winners
