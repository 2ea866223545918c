"""Checks of `health` on simulated jobs: no false alarm, none missed, and what could not be judged says so."""

from dataclasses import replace

import pytest
from health_jobs import Plan, make_job

from tracegraph.workbench.health.check import FAILED
from tracegraph.workbench.health.checks import judge_job

FAULTS = {
    "late rank": ("late-rank", {"late": 900.0}),
    "slow loader": ("loader-stall", {"loader": 500.0}),
    "a sync after every third layer": ("sync-stall", {"sync_every": 3}),
    "idle GPU": ("gpu-idle", {"pause": 1500.0}),
    "short kernels": ("launch-bound", {"kernel": 4.0, "launch": 14.0, "transfer": 10.0, "loader": 5.0}),
    "memory at 97 %": ("memory", {"memory": 0.97}),
    "steps that differ": ("step-spread", {"slow_steps": 1.4}),
    "slow network": ("exposed-communication", {"transfer": 700.0}),
}
_FAULTY = [(name, seed) for seed in range(3) for name in FAULTS][:20]


def _failed(plan: Plan) -> set[str]:
    return {one.check.name for one in judge_job(make_job(plan), {}) if one.state == FAILED}


@pytest.mark.parametrize("seed", range(20))
def test_a_job_without_a_fault_raises_no_alarm(seed: int) -> None:
    ranks = (1, 2, 1, 3)[seed % 4]
    healthy = Plan(seed, ranks, steps=5 + seed % 4, kernel=50 + 4 * (seed % 7), transfer=80 + 10 * (seed % 5))
    assert _failed(healthy) == set()


@pytest.mark.parametrize(("fault", "seed"), _FAULTY)
def test_a_fault_fails_its_check(fault: str, seed: int) -> None:
    check, change = FAULTS[fault]
    ranks = 2 if {"late", "transfer"}.intersection(change) else 1
    assert check in _failed(replace(Plan(100 + seed, ranks), **change))
