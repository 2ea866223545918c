"""Waits are known by what they do: calls, operators and frames of any name that return as GPU work ends."""

from collections.abc import Sequence

import pytest
import tiny
from tiny import Row, call, event, kernel

from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.segments import GAP, WAIT, WORK

SILENT, FLUSH = "silent synchronize", "allocator flush"
STEP = 4_000


def waits(*names: tuple[str, str], lags: Sequence[float], long: Sequence[float] = ()) -> list[Row]:
    """Steps that launch two kernels, then stand in an event until `lags` µs after the second one ends.

    `names`: name and category of that event in each step; `long`: by how much longer than 1 ms the second
    kernel is in each.
    """
    rows: list[Row] = []
    for i, lag in enumerate(lags):
        at, (name, category) = i * STEP, names[i % len(names)]
        done = at + 2_000 + (long[i] if long else 0)
        rows += [
            call("launch", at, at + 4, 2 * i + 1),
            kernel("first", at + 7, at + 1_000, 2 * i + 1),
            call("launch", at + 10, at + 14, 2 * i + 2),
            kernel("second", at + 1_001, done, 2 * i + 2),
            event(name, at + 20, done + lag, category=category),
            event("op", done + lag, at + STEP - 10),
        ]
    return rows


def held(model: tiny.Model, *rules: str) -> set[tuple[str, str]]:
    """Binding causes of what goes on after waits by these rules, and what that is."""
    check_model(model)
    return {
        (cause, effect)
        for cause, rule, effect in tiny.dependencies(model, "SYNCHRONIZATION", binding=True)
        if rule in (rules or (SILENT,))
    }


def in_event(model: tiny.Model, name: str) -> dict[int, int]:
    """ns of work, waiting and gaps inside events of this name, by kind of segment."""
    segments, events = model.segments, model.events
    mine = [
        i for i in range(len(segments)) if events.name[segments.event[i]] == name and segments.on_thread[i]
    ]
    total: dict[int, int] = {}
    for i in mine:
        kind = int(segments.kind[i])
        total[kind] = total.get(kind, 0) + int(segments.end[i] - segments.start[i])
    return total


CALLS = [
    ("urQueueFinish", "xpu_runtime"),
    ("vendorDrain", "privateuse1_runtime"),
    ("cuCtxFence", "cuda_driver"),
]
OPERATORS = [("aten::item", "cpu_op"), ("wait_for_counter", "cpu_op"), ("spin", "python_function")]


@pytest.mark.parametrize("named", CALLS, ids=lambda named: named[0])
@pytest.mark.parametrize("lags", [[10], [10, 10], [9, 14, 5, 20]], ids=["one", "two alike", "four"])
def test_a_call_of_any_name_that_returns_as_gpu_work_ends_waits_for_it(
    named: tuple[str, str], lags: list[float]
) -> None:
    model = tiny.model(*waits(named, lags=lags))
    assert len(held(model)) == len(lags)
    assert in_event(model, named[0])[WAIT] == len(lags) * 1_980_000


@pytest.mark.parametrize("named", OPERATORS[:2], ids=lambda named: named[0])
def test_an_operator_of_any_name_waits_where_that_happens_again(named: tuple[str, str]) -> None:
    model = tiny.model(*waits(named, lags=[30, 34, 27], long=[0, 400, 150]))
    assert len(held(model)) == 3
    work = sum(in_event(model, named[0]).values()) - in_event(model, named[0])[WAIT]
    assert work == 91_000


def test_one_operator_that_ends_as_the_gpu_does_may_wait_or_work() -> None:
    model = tiny.model(*waits(("aten::item", "cpu_op"), lags=[30]))
    assert not held(model)
    assert in_event(model, "aten::item") == {GAP: 2_010_000}
    assert "(unknown)@20" in tiny.path(model)


def test_an_operator_does_not_wait_for_the_work_of_another_process() -> None:
    rows = [row | ({"pid": "9"} if row["name"] == "launch" else {}) for row in waits(OPERATORS[0], lags=[30])]
    assert in_event(tiny.model(*rows), "aten::item") == {WORK: 2_010_000}


def test_spins_end_before_the_work_that_ends_them_by_lags_that_differ_more_the_longer_they_last() -> None:
    lags = [-25, -67, -53, -27]
    model = tiny.model(*waits(("spin", "cpu_op"), lags=lags, long=[0, 1_800, 700, 1_200]))
    assert len(held(model)) == 4
    assert set(in_event(model, "spin")) == {WAIT}


def test_waits_of_one_name_on_several_threads_count_together() -> None:
    rows = waits(("fence", "cpu_op"), lags=[12, 15, 11], long=[0, 300, 600])
    rows = [
        {**row, "tid": str(1 + row["start_ns"] // (STEP * 1000))} if row["pid"] == "1" else row
        for row in rows
    ]
    assert len(held(tiny.model(*rows))) == 3


def test_work_that_ends_at_any_moment_of_busy_gpus_is_no_wait() -> None:
    rows = [call("launch", 0, 4, 1), kernel("long", 7, 40_000, 1)]
    at = 10
    for i, length in enumerate((300, 700, 450, 900, 520)):
        rows += [event("convolution", at, at + length), call("launch", at + length, at + length + 5, i + 2)]
        rows.append(kernel("k", 40_000 + 100 * i, 40_099 + 100 * i, i + 2))
        at += length + 10
    model = tiny.model(*rows, event("end", at, 41_000))
    check_model(model)
    assert not held(model)
    assert set(in_event(model, "convolution")) == {0}


def test_an_operator_that_goes_on_long_after_the_gpu_does_its_own_work() -> None:
    model = tiny.model(*waits(("aten::sort", "cpu_op"), lags=[420, 433, 409], long=[0, 300, 100]))
    assert not held(model)
    assert set(in_event(model, "aten::sort")) == {0}


def test_short_kernels_of_a_thread_that_computes_hold_nothing() -> None:
    rows: list[Row] = []
    for i in range(12):
        at = i * 200
        rows += [
            event("op", at, at + 150 + i % 3),
            call("launch", at + 5, at + 9, i + 1),
            kernel("k", at + 15, at + 60, i + 1),
        ]
    assert not held(tiny.model(*rows))


@pytest.mark.parametrize(
    ("allocate", "free"),
    [("cudaMalloc", "cudaFree"), ("hipMalloc", "hipFree"), ("vrtMemAlloc", "vrtMemFree")],
)
def test_an_allocator_that_frees_waits_for_the_work_that_ended(allocate: str, free: str) -> None:
    model = tiny.model(*flush(allocate, free))
    assert ("k@7", "aten::cat@5000") in held(model, FLUSH)
    assert tiny.kinds(model)["(waiting for GPU)@150"] == "wait"


@pytest.mark.parametrize("what", ["one free", "late", "nothing allocated"])
def test_what_only_looks_like_a_flush_is_none(what: str) -> None:
    rows = flush("cudaMalloc", "cudaFree")
    if what == "one free":
        rows = [
            row for row in rows if row["name"] not in ("cudaMalloc", "cudaFree") or row["correlation"] < 13
        ]
    elif what == "late":
        rows = [{**row, "end_ns": 4_000_000} if row["name"] == "k" else row for row in rows]
    else:
        rows = [{**row, "name": "cudaEventQuery"} if row["correlation"] == 10 else row for row in rows]
    model = tiny.model(*rows)
    check_model(model)
    assert not held(model, FLUSH)


def flush(allocate: str, free: str) -> list[Row]:
    """An operator in which an allocation fails, and 4.85 ms later, as a kernel ends, memory is freed."""
    numbered = [(free, 5_040, 5_090, 12), (free, 5_100, 5_150, 13), (allocate, 5_160, 5_200, 14)]
    return [
        call("launch", 0, 4, 1),
        kernel("k", 7, 5_000, 1),
        {**event("aten::cat", 50, 5_300), "correlation": 0},
        call(allocate, 60, 150, 10),
        *(call(*row) for row in numbered),
    ]


def test_a_thread_that_another_one_launches_for_may_wait_for_the_gpu_as_well_as_work() -> None:
    rows = [kernel("decode", 100 + 400 * i, 490 + 400 * i, 5_000 + i) for i in range(50)]
    model = tiny.model(event("wait_for_output", 0, 20_500), *rows)
    check_model(model)
    assert tiny.path(model) == ["(unknown)@0"]


def test_a_thread_that_works_beside_a_gpu_that_idles_works() -> None:
    rows = [kernel("decode", 100 + 400 * i, 290 + 400 * i, 5_000 + i) for i in range(50)]
    model = tiny.model(event("tokenize", 0, 20_500), *rows)
    assert tiny.path(model) == ["tokenize@0"]
