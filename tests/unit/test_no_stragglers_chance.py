"""Ranks that are alike: steps in which all events of a name are slow together are no straggler."""

import warnings

import numpy as np
import pandas as pd

from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.what_if.changes.between_ranks import late_factors

RANKS, NAMES, EVENTS = 4, 10, 20


def job(steps: int, late: float = 0.0, seed: int = 0, ranks: int = RANKS) -> pd.DataFrame:
    """Host work whose steps scatter by 5 % and whose events hardly do; rank 1 takes `late` longer."""
    random = np.random.default_rng(seed)
    shape = (ranks, NAMES, steps, EVENTS)
    rank, name, step, _ = (place.ravel() for place in np.indices(shape))
    pace = np.broadcast_to(1 + random.normal(0, 0.05, shape[:3])[..., None], shape).ravel()
    work = 10_000 * pace * (1 + random.normal(0, 0.01, pace.size)) * (1 + late * (rank == 1))
    columns = {"rank": rank, "name": name, "event": np.arange(len(rank)), "step": step}
    return pd.DataFrame({**columns, "work": work.astype(np.int64)})


def test_steps_that_are_slow_as_a_whole_are_chance() -> None:
    for seed in range(5):
        assert late_factors(job(6, seed=seed)).eq(1).all()


def test_a_rank_that_is_late_in_each_step_is_found() -> None:
    factors = late_factors(job(6, late=0.5)).unstack("rank")
    assert factors[1].lt(0.75).all()
    assert factors[[0, 2, 3]].eq(1).all(axis=None)


def test_what_is_outside_of_steps_is_no_step() -> None:
    inside = job(4, late=0.5)
    outside = inside[inside["step"] == 0].assign(step=NONE, name=99)
    factors = late_factors(pd.concat([inside, outside], ignore_index=True)).unstack("rank")
    assert factors.loc[range(NAMES), 1].lt(0.75).all()


def test_hundreds_of_ranks_are_compared_without_a_warning_of_pandas() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        factors = late_factors(job(3, late=0.5, ranks=201))
    late = factors[factors < 1]
    assert set(late.index.get_level_values("rank")) == {1}
    assert len(late) == NAMES
    assert factors.index.names == ["name", "rank"]
