"""Where a rank is late: the events that take longer than those in the same place on the other ranks."""

import numpy as np
import pandas as pd
import pytest

from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.what_if.changes.late_places import place_factors

USUAL = np.array([20.0, 20, 60, 20])
EVEN = USUAL.sum() / (USUAL.sum() + 40)


def pieces(works: dict[int, list[list[float]]], step: int = 0) -> pd.DataFrame:
    """Host work of one name by rank and step, one event after the other."""
    rows = [
        {"rank": rank, "name": 7, "step": step + number, "work": work}
        for rank, steps in works.items()
        for number, own in enumerate(steps)
        for work in own
    ]
    return pd.DataFrame(rows).assign(
        event=lambda found: np.arange(len(found))[::-1], start=lambda f: range(len(f))
    )


def factors(own: pd.DataFrame, late: float, rank: int = 1) -> list[float]:
    """The factors of that rank's events if the sum of its name is to be so many times as long."""
    ranks = sorted(set(own["rank"]))
    index = pd.MultiIndex.from_product([[7], ranks], names=["name", "rank"])
    given = pd.Series([late if one == rank else 1.0 for one in ranks], index=index)
    found = place_factors(own, given)
    assert (found[(own["rank"] != rank).to_numpy()] == 1).all()
    return found[(own["rank"] == rank).to_numpy()].tolist()


def test_one_layer_that_is_late_loses_all_that_the_rank_is_late_by() -> None:
    own = pieces({0: [list(USUAL)] * 2, 1: [[20, 20, 100, 20], [20, 20, 100, 20]]})
    assert factors(own, EVEN) == pytest.approx([1, 1, 0.6, 1] * 2)


def test_a_rank_that_is_late_everywhere_loses_everywhere() -> None:
    own = pieces({0: [list(USUAL)], 1: [list(USUAL * 1.5)], 2: [list(USUAL)]})
    assert factors(own, 1 / 1.5) == pytest.approx([1 / 1.5] * 4)


def test_chance_differences_elsewhere_lose_nothing() -> None:
    own = pieces({0: [[20, 20, 60, 20]], 1: [[21, 19, 100, 20]]})
    assert factors(own, 1 - 40 / 160) == pytest.approx([1, 1, 0.6, 1])


def test_steps_that_are_not_alike_lose_evenly() -> None:
    other = pieces({0: [list(USUAL[:3])], 1: [[20, 20, 100, 20]]})
    assert factors(other, EVEN) == pytest.approx([EVEN] * 4)
    outside = pieces({0: [list(USUAL)], 1: [[20, 20, 100, 20]]}).assign(step=NONE)
    assert factors(outside, EVEN) == pytest.approx([EVEN] * 4)


def test_what_no_place_exceeds_is_taken_from_all() -> None:
    own = pieces({0: [[10, 30]], 1: [[20, 30]]})
    assert factors(own, 0.6) == pytest.approx([0.5 * 0.75, 0.75])
