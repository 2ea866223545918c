"""Close races between causes of GPU work, decided by how likely each observed lag is.

Launch latencies and stream gaps vary by microseconds. If two causes arrive that close to each other, the one
with the later usual arrival need not be the one that the work waited for. A start is max(c1 + l1, c2 + l2),
and cause 1 is the binding one with a likelihood of f1(g1) F2(g2), where g are the observed lags and f, F the
density and the distribution of each rule's lag. So the ratio of the likelihoods of two causes is that of
their reverse hazard rates f/F.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracegraph.ingest.arrays import Flags, Floats, Ints, Terms
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.segments import Segments
from tracegraph.ingest.causal.launches.launches import LONG_LAG_NS
from tracegraph.vocabulary.mechanisms import CODE, LAUNCH, MECHANISMS

_LAUNCH = CODE[LAUNCH]
_RULES = tuple(CODE[mechanism.name] for mechanism in MECHANISMS if mechanism.races)
_CLEAR_NS = 15_000
"""How much later than all other causes one must be complete for its lag to be a sample of its rule's lags.
Chosen by eye, some times what lags vary by: with less, lags of the other causes are among the samples, with
more, there are too few."""
_CLOSE_NS = 20_000
"""Causes race if they arrive within this time of the latest: lags vary by microseconds. Chosen by eye, a
little more than `_CLEAR_NS`: what comes earlier than that would need a lag of several times the usual one."""
_LEAST_SAMPLES = 12
"""With fewer samples the prior is added: the spread comes from quartiles, and twelve leave three in a
quarter."""
_FINE_NS, _COARSE_NS = 50, 500
"""What is added to each lag, so that a lag of 0 has a logarithm, too: half of a microsecond if the file
writes whole ones, since a lag is known no better, else a little that is far below any lag."""
_PRIOR = 0.4 + 0.3 * np.array([-1.1, -0.4, 0.0, 0.4, 1.1])
"""Stands in for the samples of a rule seen too seldom: logarithms of the ratio of lags to the rule's usual
one, which is a low quantile, so that most are positive. An estimate: from 1.07 to 2.1 times the usual lag,
and 1.5 times in the median (the exponentials of .07, .73 and .4)."""
_LONGEST_ODDS = 5.0
"""Log-odds up to which a lag is plausible: its rule shows longer ones more than once in 150 times, since
exp(-5) is 1/148."""
_MODESTY = 1.7
"""The power to which the share of the likelihood is raised, since favourites are right less often than it
says: of those with a share of .55 two in five were right in simulated races, of those with .83 .73."""
_LIKE_ANY_LAG_NS = 10_000
"""The longest lag that is plausible if the lags of its rule are not known. Chosen by eye: a larger one would
call more starts near-ties, a smaller one would hide races of such rules."""


@dataclass(frozen=True)
class Verdict:
    """What the races say of each candidate.

    Attributes
    ----------
    favoured
        Whether it is the likeliest of a close race.
    open_race
        Whether it is in a race without a clear answer.
    share
        How likely it is the cause among those of its race, 0 to 1, with the correction by `_MODESTY`; 1
        outside of races.
    """

    favoured: Flags
    open_race: Flags
    share: Floats


def judge(
    segments: Segments,
    mechanism: Terms,
    recorded: Flags,
    cause: Ints,
    effect: Ints,
    gap: Ints,
    arrival: Ints,
) -> Verdict:
    """Decide the races among launches, stream order and stream waits whose arrivals are within 20 µs.

    The lags of each rule are taken as log-logistic. Their median and spread come from the starts for which
    the rule's cause came 15 µs after all others; if these are fewer than 12, lags around the usual one are
    added. A launch from inside its call, or without a row, has no lag that could be observed: it may have
    come at any moment since that stretch of the thread began. A race is open if the lags of two causes are
    such as their rules show more than once in 150 times, or, if that is not known, at most 10 µs.

    Parameters
    ----------
    segments
        The segments that `cause` and `effect` index.
    mechanism, recorded, cause, effect
        The candidates, sorted by effect.
    gap
        From the completion of the cause to the start of the effect, ns.
    arrival
        When the effect could have started by this cause alone, ns.
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
    """Count for each candidate how many of its group are chosen."""
    counts: Ints = np.bincount(group, chosen).astype(np.int64)[group]
    return counts


def _largest(values: npt.NDArray[Any], group: Ints) -> npt.NDArray[Any]:
    """Find the largest value of each group."""
    if not len(group):
        return values
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    largest: npt.NDArray[Any] = np.maximum.reduceat(values, first)
    return largest


def _measurable(
    segments: Segments, mechanism: Terms, recorded: Flags, cause: Ints, effect: Ints
) -> tuple[Flags, Flags]:
    """Tell which candidates of GPU work have a lag since the end of a call or work.

    Also tell which launches have none, since they came from inside their call, or have no row.
    """
    on_gpu = ~segments.on_thread[effect] & (segments.event[effect] >= 0)
    following = np.minimum(cause + 1, len(segments) - 1)
    goes_on = (segments.event[following] == segments.event[cause]) & (following > cause)
    inside = (goes_on | ~recorded) & segments.on_thread[cause] & (mechanism == _LAUNCH) & on_gpu
    return on_gpu & np.isin(mechanism, _RULES) & ~inside, inside


@dataclass(frozen=True)
class _Lags:
    """How the lags of a rule are spread: log-logistic, except for a share that has no lag at all.

    Attributes
    ----------
    median, scale
        Location and scale of the logistic distribution of the logarithms of lags in ns, plus `resolution`.
    without
        The share of launches that came from inside their call.
    resolution
        What is added to each lag, so that a lag of 0 has a logarithm: 500 ns if times are whole µs, else 50.
    """

    median: float
    scale: float
    without: float
    resolution: int


def _fit(
    segments: Segments,
    mechanism: Terms,
    cause: Ints,
    effect: Ints,
    gap: Ints,
    usual: Ints,
    runs: Flags,
    inside: Flags,
) -> dict[int, _Lags]:
    """Fit the lags of each rule to its clear cases, with a prior around its usual lag if these are few."""
    alone = _clear_winners(segments, cause, effect) & (gap <= LONG_LAG_NS)
    resolution = _FINE_NS if (gap[runs] % 1000).any() else _COARSE_NS
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


def _weigh(fits: dict[int, _Lags], mechanism: Terms, gap: Ints, chosen: Flags) -> tuple[Floats, Floats]:
    """Calculate the log-odds that a lag of the rule is shorter than the observed one, and log(f/F) there."""
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
    """Tell which candidates were complete 15 µs after all others of their effect."""
    done = segments.completion[cause]
    order = np.lexsort((done, effect))
    last = np.append(effect[order][1:] != effect[order][:-1], True)[: len(order)]
    same = np.append(False, effect[order][1:] == effect[order][:-1])[: len(order)]
    before = np.append(NONE, done[order][:-1])[: len(order)]
    clear = last & (~same | (done[order] - np.where(same, before, 0) >= _CLEAR_NS))
    winners = np.zeros(len(effect), dtype=bool)
    winners[order[clear]] = True
    return winners
