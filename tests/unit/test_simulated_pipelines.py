"""Simulated pipelines: times worked out by hand, bubbles by formula, and what-if against simulating again."""

import pytest

from benchmarks.simulator.judge import GOAL, bubble, describe, expected_bubble, judge
from benchmarks.simulator.pipeline import COMPUTES, Job, simulate, span_ns
from benchmarks.simulator.schedules import SCHEDULES, Pass, interleaved, one_f_one_b, zero_bubble

UNEVEN = [1_000_000, 1_000_000, 1_500_000, 800_000]


def of(schedule: str, batches: int, forward: list[int]) -> Job:
    """A job whose backward passes take twice as long as its forward passes."""
    chunks = 2 if schedule == "interleaved" else 1
    return Job(schedule, batches, forward, [2 * one for one in forward], chunks)


def test_two_stages_and_one_micro_batch() -> None:
    # A call takes 100 ns and a message 1,000. Stage 0 computes from 100 to 10,100 and sends at 10,200; stage
    # 1 has the message at 11,200 and computes from 11,300 on, then backward from 21,400 to 41,400. It sends
    # at 41,500, stage 0 has that at 42,500, and computes from 42,600 on.
    ranks = simulate(Job("1f1b", 1, [10_000, 10_000], [20_000, 20_000], steps=1))
    work = [[(one.start, one.end) for one in rank.kernels if one.what == COMPUTES] for rank in ranks]
    assert work == [
        [(100, 10_100), (42_600, 62_600)],
        [(11_300, 21_300), (21_400, 41_400)],
    ]
    assert span_ns(ranks, 0) == 62_500


def test_orders_of_four_stages_and_eight_micro_batches() -> None:
    shown = {Pass("forward", k): f"F{k}" for k in range(8)} | {Pass("backward", k): f"B{k}" for k in range(8)}
    shown |= {Pass("weights", k): f"W{k}" for k in range(8)}
    first, last = (" ".join(shown[one] for one in one_f_one_b(stage, 4, 8)) for stage in (0, 3))
    assert first == "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7"
    assert last.startswith("F0 B0 F1 B1 F2 B2")
    late = " ".join(shown[one] for one in zero_bubble(2, 4, 4))
    assert late == "F0 F1 B0 F2 B1 F3 B2 W0 B3 W1 W2 W3"
    chunks = [(one.what[0], one.batch, one.chunk) for one in interleaved(1, 2, 2, 2)]
    assert chunks == [
        *(("f", 0, 0), ("f", 1, 0), ("f", 0, 1), ("b", 0, 1)),
        *(("f", 1, 1), ("b", 1, 1), ("b", 0, 0), ("b", 1, 0)),
    ]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("stages", "batches"), [(2, 2), (3, 6), (4, 8), (8, 16)])
def test_even_stages_have_the_bubble_of_the_formula(schedule: str, stages: int, batches: int) -> None:
    job = of(schedule, batches, [1_000_000] * stages)
    assert bubble(job) == pytest.approx(expected_bubble(job), abs=0.0015)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_if_predicts_what_simulating_again_gives(schedule: str) -> None:
    score = judge(of(schedule, 8, UNEVEN))
    assert len(score.lengths) == 3
    for said, true in score.lengths.values():
        assert abs(said - true) <= 100  # the rounding of each pass, ns
    assert "3 of 3 predicted lengths are within 1 %" in describe([score])
    assert GOAL == 0.01
