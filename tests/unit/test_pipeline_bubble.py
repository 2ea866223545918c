"""The bubble of a pipeline's stages: simulated schedules of even and uneven stages against their formulas."""

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from module_rows import rows_of

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.shapes.parallel.pipeline import pipeline, zero_bubble
from tracegraph.queries.shapes.parallel.pipeline_timeline import pipeline_timeline

Stretch = tuple[int, int]


def scheduled(
    forward: list[int], backward: list[int], batches: int, *, all_first: bool
) -> list[list[Stretch]]:
    """When each stage computes: forward and backward passes in the order of GPipe, or of 1F1B.

    A pass begins once its stage is free and the pass that it needs has ended; messages take no time.
    """
    stages = len(forward)
    ended: dict[tuple[str, int, int], int] = {}
    orders = []
    for stage in range(stages):
        warm = batches if all_first else min(batches, stages - stage)
        order = [("f", k) for k in range(warm)]
        for k in range(batches):
            order += [("b", k), *([("f", k + warm)] if k + warm < batches else [])]
        orders.append(order)
    free, done = [0] * stages, [0] * stages
    found: list[list[Stretch]] = [[] for _ in range(stages)]
    while any(done[stage] < len(orders[stage]) for stage in range(stages)):
        for stage in range(stages):
            if done[stage] == len(orders[stage]):
                continue
            what, k = orders[stage][done[stage]]
            before = stage - 1 if what == "f" else stage + 1
            if 0 <= before < stages and (what, before, k) not in ended:
                continue
            start = max(free[stage], ended.get((what, before, k), 0))
            free[stage] = ended[what, stage, k] = start + (forward if what == "f" else backward)[stage]
            found[stage].append((start, free[stage]))
            done[stage] += 1
    return found


def asked(
    stages: list[list[Stretch]], batches: int | None, *, chunks: int = 1, known: bool = False, **phases: Any
) -> pd.DataFrame:
    """The rows for stages of ranks in turned order, so that a rank is not its stage."""
    frames = answered(stages, known=known, **phases)
    values = {"start_ns": 0, "end_ns": 10**9, "micro_batches": batches, "chunks": chunks}
    return in_types(pipeline(values, *frames), find("pipeline").columns)


def answered(stages: list[list[Stretch]], *, known: bool = False, **phases: Any) -> tuple[pd.DataFrame, ...]:
    """What `stage_work`, `steps` and `phases` answer of one step of such stages."""
    work, steps = [], []
    for stage, stretches in enumerate(stages):
        rank = {"rank": len(stages) - 1 - stage}
        begin, end = (list(times) for times in zip(*stretches, strict=True))
        work.append({**rank, "what": "computation", "begin_ns": begin, "end_ns": end})
        message = {"begin_ns": end, "end_ns": [at + 1 for at in end], "is_known": known}
        work.append({**rank, "what": "communication", **message})
        steps.append({**rank, "number": 3, "start_ns": 0, "window_end_ns": 10**9, "end_ns": 10**9})
    return (
        rows_of("stage_work", *work),
        rows_of("steps", *steps),
        rows_of("phases", *phases.get("rows", ())),
    )


@settings(max_examples=6, deadline=None)
@given(st.integers(2, 6), st.integers(2, 12), st.integers(50, 500), st.integers(50, 500), st.booleans())
def test_even_stages_have_the_bubble_of_the_formula(
    stages: int, batches: int, forward: int, backward: int, all_first: bool
) -> None:
    rows = asked(
        scheduled([forward] * stages, [backward] * stages, max(stages, batches), all_first=all_first),
        max(stages, batches),
    )
    assert rows["stage"].tolist() == list(range(stages))
    assert rows["rank"].tolist() == list(reversed(range(stages)))
    assert rows["bubble_share"].to_numpy() == pytest.approx(rows["expected_1f1b"].to_numpy(float))
    assert rows["excess"].abs().max() < 1e-9


def test_p_4_and_m_8() -> None:
    rows = asked(scheduled([100] * 4, [200] * 4, 8, all_first=False), 8)
    assert rows["expected_1f1b"].iloc[0] == pytest.approx(3 / 11)
    assert rows["span_ns"].unique().tolist() == [11 * 300]
    interleaved = asked(scheduled([100] * 4, [200] * 4, 8, all_first=False), 8, chunks=2)
    assert interleaved["expected_interleaved"].iloc[0] == pytest.approx(3 / 19)


def test_a_slow_stage_makes_the_others_wait_longer_than_the_formula() -> None:
    rows = asked(scheduled([100, 100, 100, 150], [200, 200, 200, 300], 8, all_first=False), 8)
    assert rows["excess"].iloc[3] < 0 < rows["excess"].iloc[0]


def test_known_transfers_are_no_bubble() -> None:
    stages = scheduled([100, 100], [200, 200], 2, all_first=True)
    most, known = asked(stages, 2), asked(stages, 2, known=True)
    assert most["is_most"].all()
    assert most["transfer_ns"].isna().all()
    assert not known["is_most"].any()
    assert (most["bubble_ns"] - known["bubble_ns"] == known["transfer_ns"]).all()
    assert known["transfer_ns"].max() > 0


def test_micro_batches_are_counted_by_backward_passes_or_unknown() -> None:
    stages = scheduled([100, 100], [200, 200], 3, all_first=False)
    backward = [
        {"rank": rank, "phase": "backward", "occurrence": k, "start_ns": 100 + k, "window_end_ns": 2_000 + k}
        for rank in range(2)
        for k in range(3)
    ]
    assert asked(stages, None, rows=backward)["micro_batches"].tolist() == [3, 3]
    assert asked(stages, None)["expected_1f1b"].isna().all()


def test_one_stage_alone_or_ranks_without_messages_are_no_pipeline() -> None:
    assert asked(scheduled([100], [200], 3, all_first=True), 3).empty


# One micro-batch through two stages: forward 100, backward 200, then messages of 1 ns.
PASSES = [
    {"rank": rank, "phase": phase, "start_ns": start, "window_end_ns": start + length}
    for phase, length, starts in (("forward", 100, (100, 0)), ("backward", 200, (200, 400)))
    for rank, start in enumerate(starts)
]


@pytest.mark.parametrize("known", [False, True])
def test_the_timeline_covers_the_step_of_each_stage_once(known: bool) -> None:
    stages = scheduled([100, 100], [200, 200], 1, all_first=True)
    values = {"start_ns": 0, "end_ns": 10**9, "parts": 1_000}
    rows = pipeline_timeline(values, *answered(stages, known=known, rows=PASSES))
    found = [tuple(row) for row in rows[["stage", "doing", "start_ns", "end_ns"]].to_numpy()]
    sent = [(0, "transfer", 100, 101)] if known else []
    assert found == [
        *(
            (0, "forward", 0, 100),
            *sent,
            (0, "waiting", 101 if known else 100, 400),
            (0, "backward", 400, 600),
        ),
        *((1, "waiting", 0, 100), (1, "forward", 100, 200), (1, "backward", 200, 400)),
        *([(1, "transfer", 400, 401)] if known else []),
        (1, "waiting", 401 if known else 400, 600),
    ]
    assert rows["rank"].tolist() == [1] * (4 if known else 3) + [0] * (5 if known else 4)


def test_short_pauses_join_work_and_passes_that_nothing_tells_apart_compute() -> None:
    stages = scheduled([100, 100], [200, 200], 1, all_first=True)
    values = {"start_ns": 0, "end_ns": 10**9, "parts": 2}
    rows = pipeline_timeline(values, *answered(stages))
    # 300 of the 600 ns are no short pause, the last 200 are.
    assert rows["doing"].tolist() == ["computing", "waiting", "computing", "waiting", "computing"]
    empty = pipeline_timeline(values, *answered(stages[:1]))
    assert empty.empty


def test_zero_bubble_leaves_the_forward_passes_of_the_other_stages() -> None:
    # Four stages, eight micro-batches, passes of 1 for forward, inputs and weights: 3 of 27.
    assert zero_bubble(4, 8, 4 * 8, 2 * 4 * 8) == pytest.approx(3 / 27)
    rows = asked(scheduled([100, 100], [200, 200], 1, all_first=True), 1, rows=PASSES)
    assert rows["expected_zero_bubble"].to_numpy(float) == pytest.approx(100 / 400)
