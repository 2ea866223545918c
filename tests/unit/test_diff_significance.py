"""Whether steps differ by more than chance: against scipy's own Welch test, and on simulated pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.accuracy.step_pairs import SITUATIONS, Situation, judge_pairs
from tracegraph.workbench.diff.significance import Comparison, compare_steps

PAIRS = 200
ZIGZAG = [100, 103, 99, 104, 98, 102, 97, 101]
"""Neighbours are less alike than chance makes them, there is no trend and no warm-up: plain Welch."""


def compared(a: list[float], b: list[float]) -> Comparison:
    found = compare_steps(a, b)
    assert found is not None
    return found


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.name)
def test_no_more_false_differences_than_stated_and_as_many_true_ones_as_promised(
    situation: Situation,
) -> None:
    found = judge_pairs(situation, PAIRS, seed=1)
    assert found.false <= 16
    assert not situation.claims_hold or found.found_of_claimed >= 0.8 * found.claimed
    assert not situation.keeps or found.found >= 0.8 * PAIRS


def test_independent_steps_are_compared_as_scipy_does() -> None:
    b = [1.5 * length - 40 for length in ZIGZAG]
    found, expected = compared(ZIGZAG, b), stats.ttest_ind(b, ZIGZAG, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert (found.a.autocorrelation, found.b.autocorrelation) == (0, 0)
    assert (found.low_ns, found.high_ns) == pytest.approx((interval.low, interval.high))
    assert found.p == pytest.approx(expected.pvalue)
    assert found.is_told == (expected.pvalue < 0.05)


def test_the_smallest_difference_that_is_shown_has_the_stated_power() -> None:
    """By the noncentral distribution of t, which is exact for two sides that vary alike."""
    found = compared(ZIGZAG, [length + 7 for length in ZIGZAG])
    error, freedom = np.hypot(found.a.error_ns, found.b.error_ns), 14
    limit = stats.t.ppf(0.975, freedom)
    assert 1 - stats.nct.cdf(limit, freedom, found.shown_ns / error) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("few", [0, 1, 4])
def test_too_few_steps_are_not_compared(few: int) -> None:
    assert compare_steps(ZIGZAG[:few], ZIGZAG) is None
    assert compare_steps(ZIGZAG, ZIGZAG[:few]) is None
    assert compare_steps(ZIGZAG, ZIGZAG[:5]) is not None


def test_a_warm_up_is_left_out() -> None:
    found = compared([300, 150, *ZIGZAG], ZIGZAG)
    assert (found.a.warm_up, found.a.count, found.diff_ns) == (2, 8, 0)


def test_neighbours_that_are_alike_count_for_fewer() -> None:
    blocks = [100, 100, 100, 104, 104, 104, 99, 99, 99, 103, 103, 103]
    found = compared(blocks, blocks)
    assert found.a.autocorrelation > 0.5
    assert found.a.independent < 5
    mixed = compared(blocks[::3] + blocks[1::3] + blocks[2::3], blocks)
    assert mixed.a.error_ns < found.a.error_ns


def test_a_drift_is_named_and_widens_the_interval() -> None:
    drifting = [length + 5 * at for at, length in enumerate(ZIGZAG * 2)]
    found = compared(drifting, ZIGZAG)
    assert found.a.drift_ns == pytest.approx(75, rel=0.1)
    assert found.high_ns - found.low_ns > found.a.drift_ns
    assert found.b.drift_ns == 0


@pytest.mark.parametrize(("longer", "told", "p"), [(0, False, 1), (1, True, 0)])
def test_steps_that_do_not_vary(longer: int, told: bool, p: float) -> None:
    found = compared([50.0] * 5, [50.0 + longer] * 6)
    assert (found.low_ns, found.high_ns, found.is_told, found.p) == (longer, longer, told, p)


LENGTHS = st.lists(st.integers(1, 10**12), min_size=5, max_size=40)


@given(LENGTHS, LENGTHS)
def test_the_other_way_round_only_signs_change(a: list[float], b: list[float]) -> None:
    there, back = compared(a, b), compared(b, a)
    assert (back.low_ns, back.high_ns) == pytest.approx((-there.high_ns, -there.low_ns))
    assert (back.p, back.shown_ns) == pytest.approx((there.p, there.shown_ns))


@given(LENGTHS, LENGTHS)
def test_interval_p_and_verdict_agree(a: list[float], b: list[float]) -> None:
    found = compared(a, b)
    assert found.low_ns <= found.diff_ns <= found.high_ns
    assert 0 <= found.p <= 1
    assert found.is_told == (found.p < 0.05) or found.p == pytest.approx(0.05, abs=1e-6)
    for side, lengths in ((found.a, a), (found.b, b)):
        assert 5 <= side.count == len(lengths) - side.warm_up
        assert 0 < side.independent <= side.count
