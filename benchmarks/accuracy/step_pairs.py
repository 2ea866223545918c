"""Pairs of recordings whose steps vary as real ones do, with and without a true change."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegraph.workbench.diff.significance import Comparison, compare_steps

STEP_NS, CHANGE = 100_000_000, 0.05
"""The length of a step, ns, and the true change of it, a share."""
Lengths = NDArray[np.float64]
Draw = Callable[[np.random.Generator], tuple[Lengths, Lengths]]


@dataclass(frozen=True)
class Situation:
    """A way in which steps vary.

    `keeps`: whether at least 80 of 100 true changes are found: the steps are many enough to promise that.
    `claims_hold`: whether 80 of 100 are found of those pairs that say that they would show such a change.
    """

    name: str
    draw: Draw
    keeps: bool
    claims_hold: bool = True


def normal(rng: np.random.Generator, count: int, deviation: float) -> Lengths:
    """Draw independent steps; the deviation is a share of a step."""
    return 1 + deviation * rng.normal(size=count)


def alike(rng: np.random.Generator, count: int, correlation: float, deviation: float) -> Lengths:
    """Draw an autoregressive series of order 1."""
    own = np.sqrt(1 - correlation**2) * rng.normal(size=count)
    values = np.empty(count)
    values[0] = rng.normal()
    for at in range(1, count):
        values[at] = correlation * values[at - 1] + own[at]
    return 1 + deviation * values


def warm_up(rng: np.random.Generator, count: int, first: float, steps: float) -> Lengths:
    """Draw steps that begin longer by a share, which a number of steps makes e times smaller."""
    return normal(rng, count, 0.02) + first * np.exp(-np.arange(count) / steps)


def heavy(rng: np.random.Generator, count: int, deviation: float) -> Lengths:
    """Draw from Student's t of 3 degrees of freedom: a few steps are far from the others."""
    return 1 + deviation * rng.standard_t(3, size=count)


def rising(rng: np.random.Generator, count: int, a_step: float) -> Lengths:
    """Draw steps that become longer and longer, as on a GPU that gets hot."""
    return normal(rng, count, 0.01) + a_step * np.arange(count)


def interrupted(rng: np.random.Generator, count: int, often: float) -> Lengths:
    """Draw steps of which some take twice as long, as those that save what was learned."""
    return normal(rng, count, 0.02) + (rng.random(count) < often)


SITUATIONS = (
    Situation("independent, 5 and 5", lambda r: (normal(r, 5, 0.01), normal(r, 5, 0.01)), False),
    Situation("independent, 10 and 10", lambda r: (normal(r, 10, 0.02), normal(r, 10, 0.02)), True),
    Situation("independent, 20 and 20", lambda r: (normal(r, 20, 0.04), normal(r, 20, 0.04)), True),
    Situation("unequal, 8 and 40, 2 % and 4 %", lambda r: (normal(r, 8, 0.02), normal(r, 40, 0.04)), True),
    Situation("unequal, 8 and 40, 4 % and 1 %", lambda r: (normal(r, 8, 0.04), normal(r, 40, 0.01)), False),
    Situation(
        "neighbours .3, 20 and 20", lambda r: (alike(r, 20, 0.3, 0.025), alike(r, 20, 0.3, 0.025)), True
    ),
    Situation("neighbours .5, 50 and 50", lambda r: (alike(r, 50, 0.5, 0.03), alike(r, 50, 0.5, 0.03)), True),
    Situation(
        "neighbours .5, 10 and 10", lambda r: (alike(r, 10, 0.5, 0.03), alike(r, 10, 0.5, 0.03)), False
    ),
    Situation(
        "neighbours .7, 50 and 50", lambda r: (alike(r, 50, 0.7, 0.03), alike(r, 50, 0.7, 0.03)), False
    ),
    Situation(
        "first step three times as long, 10 and 40",
        lambda r: (warm_up(r, 10, 2, 0.1), warm_up(r, 40, 2, 0.1)),
        True,
    ),
    Situation(
        "warm-up of 3 steps, 20 and 40", lambda r: (warm_up(r, 20, 0.5, 3), warm_up(r, 40, 0.5, 3)), False
    ),
    Situation(
        "warm-up of 8 steps, 20 and 60",
        lambda r: (warm_up(r, 20, 0.1, 8), warm_up(r, 60, 0.1, 8)),
        False,
        False,
    ),
    Situation("heavy tails, 40 and 40", lambda r: (heavy(r, 40, 0.03), heavy(r, 40, 0.03)), True),
    Situation("heavy tails, 8 and 40", lambda r: (heavy(r, 8, 0.03), heavy(r, 40, 0.03)), False),
    Situation(
        "one step of ten twice as long", lambda r: (interrupted(r, 20, 0.1), interrupted(r, 40, 0.1)), False
    ),
    Situation("drift, 20 and 40", lambda r: (rising(r, 20, 0.0025), rising(r, 40, 0.0025)), False),
)


@dataclass(frozen=True)
class Outcome:
    """Of pairs: how many without a change were told apart, and how many with one.

    `claimed`: how many pairs with a change say that steps such as theirs show one of its size.
    `found_of_claimed`: how many of these were told apart.
    """

    pairs: int
    false: int
    found: int
    claimed: int
    found_of_claimed: int


def judge_pairs(situation: Situation, pairs: int, seed: int) -> Outcome:
    """Compare pairs without a change, and as many others with one."""
    rng = np.random.default_rng(seed)
    false = found = claimed = found_of_claimed = 0
    for _ in range(pairs):
        false += _compared(*situation.draw(rng)).is_told
        a, b = situation.draw(rng)
        changed = _compared(a, b * (1 + CHANGE))
        found += changed.is_told
        if changed.shown_ns <= CHANGE * STEP_NS:
            claimed += 1
            found_of_claimed += changed.is_told
    return Outcome(pairs, false, found, claimed, found_of_claimed)


def _compared(a: Lengths, b: Lengths) -> Comparison:
    found = compare_steps((a * STEP_NS).tolist(), (b * STEP_NS).tolist())
    assert found is not None
    return found
