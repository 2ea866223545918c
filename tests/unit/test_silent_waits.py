"""Threads that are silent until GPU work ends: by repetition, not by one coincidence."""

from collections.abc import Sequence

import tiny
from tiny import Row, call, event, kernel

from tracegraph.ingest.causal.graph.invariants import check_model

SILENT = "silent synchronize"


def steps(lags: Sequence[float], *, length: float = 3000) -> list[Row]:
    """Steps that launch a kernel of 2 ms, then stand in an annotation that ends `lags` µs after it."""
    rows: list[Row] = []
    for i, lag in enumerate(lags):
        at = i * length
        rows += [
            call("cudaLaunchKernel", at, at + 4, i + 1),
            kernel("k", at + 7, at + 2000, i + 1),
            event("forward", at + 20, at + 2000 + lag, category="user_annotation"),
            event("op", at + 2000 + lag, at + length - 10),
        ]
    return rows


def found(model: tiny.Model) -> set[tuple[str, str]]:
    return {
        (cause, effect)
        for cause, rule, effect in tiny.dependencies(model, "SYNCHRONIZATION", binding=True)
        if rule == SILENT
    }


def test_silences_that_end_with_the_gpu_again_and_again_wait_for_it() -> None:
    model = tiny.model(*steps([12, 15, 11, 13]))
    check_model(model)
    assert found(model) == {(f"k@{i * 3000 + 7}", f"forward@{i * 3000 + 2000}") for i in range(4)}
    assert tiny.kinds(model)["(waiting for GPU)@20"] == "wait"


def test_two_silences_are_enough_beside_a_gpu_that_works_and_where_the_lag_is_short() -> None:
    assert len(found(tiny.model(*steps([12, 15])))) == 2
    # 80 µs are too large a part of 2 ms, and a kernel that begins late leaves the GPU idle for most of it.
    assert not found(tiny.model(*steps([80, 83])))
    late = [
        {**row, "start_ns": row["end_ns"] - 500_000} if row["name"] == "k" else row for row in steps([12, 15])
    ]
    assert not found(tiny.model(*late))


def test_one_silence_that_ends_with_the_gpu_proves_nothing() -> None:
    assert not found(tiny.model(event("op", -50, -10), *steps([12])))


def test_silences_that_end_at_any_time_after_the_gpu_wait_for_something_else() -> None:
    assert not found(tiny.model(*steps([12, 400, 150, 700])))


def test_a_clock_that_is_a_little_late_hides_no_wait() -> None:
    model = tiny.model(*steps([-20, -25, -18, -30]))
    check_model(model)
    assert {effect for _, effect in found(model)} == {
        f"op@{i * 3000 + 2000 - lag}" for i, lag in enumerate((20, 25, 18, 30))
    }


def test_work_that_starts_after_a_silence_does_not_end_it() -> None:
    rows: list[Row] = []
    for i in range(4):
        at = i * 3000
        rows += [
            call("cudaLaunchKernel", at, at + 4, i + 1),
            kernel("k", at + 1990, at + 2000, i + 1),
            event("forward", at + 20, at + 1960, category="user_annotation"),
            event("op", at + 1960, at + 2990),
        ]
    model = tiny.model(*rows)
    check_model(model)
    assert not found(model)


def test_work_that_is_launched_during_a_silence_does_not_end_it() -> None:
    rows = steps([12, 15, 11, 13])
    late = [
        {**row, "start_ns": row["start_ns"] + 1_500_000, "end_ns": row["end_ns"] + 1_500_000, "tid": "2"}
        if row["name"] == "cudaLaunchKernel"
        else {**row, "start_ns": row["start_ns"] + 1_500_000}
        if row["name"] == "k"
        else row
        for row in rows
    ]
    assert not found(tiny.model(*late))


def test_a_recording_that_begins_in_a_wait_needs_one_end_only() -> None:
    model = tiny.model(
        kernel("before", 0, 1000, None),
        event("op", 1010, 1030),
        call("l", 1030, 1034, 2),
        kernel("k", 1037, 1100, 2),
    )
    check_model(model)
    assert found(model) == {("before@0", "(untraced CPU time)@1000")}
