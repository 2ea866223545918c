"""Checks of `health` on simulated jobs: no false alarm, none missed, and what could not be judged says so."""

from dataclasses import replace

import pytest
from health_jobs import Plan, make_job

from tracegraph.queries.shapes.peak.checks import FAILED, NOT_JUDGED
from tracegraph.queries.shapes.peak.job import Job
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


STATED = Job(params=10_000, tokens=1_000, peak=0.5)


def _mfu(stated: Job, floor: float = 0.3) -> tuple[str, float | None, str]:
    job = make_job(Plan(1, 2))
    (found,) = [one for one in judge_job(job, {"mfu": floor}, stated) if one.check.name == "mfu"]
    return found.state, found.value, found.words


def test_the_share_of_the_peak_has_a_floor() -> None:
    slowest_s = max(one.step_ns.mean() for one in make_job(Plan(1, 2)).ranks.values()) / 1e9
    expected = 6 * 10_000 * 1_000 / 2 / (0.5e12 * slowest_s)  # half of the tokens on each of the two GPUs
    assert _mfu(STATED)[1] == pytest.approx(expected)
    assert _mfu(STATED, expected * 1.01)[0] == FAILED
    assert _mfu(STATED, expected * 0.99)[0] == "ok"
    assert _mfu(replace(STATED, gpus=4))[1] == pytest.approx(expected / 2)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (
            replace(STATED, tokens=None),
            "The FLOPs of the model need the tokens of a step on all GPUs. Give --tokens.",
        ),
        (replace(STATED, peak=None), "which is not looked for here. Give --peak, in TFLOP/s."),
    ],
)
def test_what_the_share_of_the_peak_needs_is_said(stated: Job, words: str) -> None:
    state, value, said = _mfu(stated)
    assert (state, value) == (NOT_JUDGED, None)
    assert said.endswith(words)


def test_without_a_model_nobody_asks_for_its_share_of_the_peak() -> None:
    names = [one.check.name for one in judge_job(make_job(Plan(1, 1)), {}, Job(peak=989.0))]
    assert "mfu" not in names
