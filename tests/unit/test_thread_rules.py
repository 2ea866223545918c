"""Waiting for other ranks, for the GIL, and the policies between threads, on traces of a few rows."""

import numpy as np
import pytest
import tiny
from tiny import Model, Row, event, step

from tracegraph.ingest.causal.graph.path_rows import path_rows


def frame(name: str, start: float, end: float, *, thread: int = 1) -> Row:
    return event(name, start, end, category="python_function", thread=thread)


def all_reduce(start: float, end: float, elements: int | None = 1000) -> Row:
    shapes = {} if elements is None else {"shapes": f"[[{elements}]]"}
    return event("gloo:all_reduce", start, end, category="user_annotation", thread=2, **shapes)


def waits(model: Model) -> set[str]:
    return {label for label, kind in tiny.kinds(model).items() if kind == "wait"}


def confidence(model: Model, mechanism: str) -> float:
    rows = path_rows(model)
    return float(rows.loc[rows["mechanism"] == mechanism, "confidence"].iloc[0])


@pytest.mark.parametrize(
    ("elements", "transfer"),
    [(1000, 1008), (100_000, 1800), (None, 5000)],
)
def test_a_collective_longer_than_its_transfer_waits_first(elements: int | None, transfer: float) -> None:
    shorter = [] if elements else [all_reduce(0, 5000, None)]
    model = tiny.model(
        *shorter, event("op", 0, 6000), all_reduce(6000, 206_000, elements), event("op", 206_050, 207_000)
    )
    begin, end = "gloo:all_reduce@6000", f"gloo:all_reduce@{206_000 - transfer:g}"
    assert tiny.dependencies(model, "SYNCHRONIZATION", binding=True) == {(begin, "collective", end)}
    assert confidence(model, "collective") == (0.6 if elements else 0.8)
    assert "(waiting for another rank)@6001" in waits(model)


def test_a_short_collective_or_one_on_a_working_thread_does_not_wait() -> None:
    assert waits(tiny.model(event("op", 0, 3000), all_reduce(0, 1050), event("op", 3000, 4000))) == set()
    working = tiny.model(event("op", 0, 10, thread=2), all_reduce(20, 200_000), event("op", 0, 200_000))
    assert tiny.dependencies(working, "SYNCHRONIZATION") == set()


def called_and_awaited(waits_until: float = 5300) -> list[Row]:
    """A function that begins a collective on another thread and goes on as that one has ended."""
    return [
        frame("step", 0, 9000),
        event("c10d::allreduce_", 1000, 1020),
        event("aten::mm", 1020, 2000),
        event("gloo:all_reduce", 1050, 5250, category="user_annotation", thread=2),
        event("aten::mul", waits_until, 8000),
    ]


def test_a_collective_begins_by_its_call_and_ends_the_wait_of_its_caller() -> None:
    model = tiny.model(*called_and_awaited())
    assert tiny.dependencies(model, "CROSS_THREAD", binding=True) == {
        ("step@0", "hand-over", "gloo:all_reduce@1050"),
        ("gloo:all_reduce@1050", "resume", "aten::mul@5300"),
    }
    assert waits(model) == {"(waiting for another thread)@0", "(waiting for another thread)@2000"}


def test_an_end_that_is_noted_late_ends_the_wait_too() -> None:
    model = tiny.model(*called_and_awaited(waits_until=5150))
    assert ("gloo:all_reduce@1050", "resume", "aten::mul@5150") in tiny.dependencies(model, "CROSS_THREAD")


@pytest.mark.parametrize("until", [4900, 5800, 8000])
def test_who_goes_on_at_another_time_did_not_wait_for_it(until: float) -> None:
    assert {m for _, m, _ in tiny.dependencies(tiny.model(*called_and_awaited(until)), "CROSS_THREAD")} == {
        "hand-over"
    }


def silent_while_another_runs(name: str, category: str) -> list[Row]:
    """A thread whose event usually takes 10 µs and once 1000, in which another one runs Python."""
    usual = [event(name, 20 * i, 20 * i + 10, category=category) for i in range(5)]
    busy = [frame("loop", 110 + 10 * i, 112 + 10 * i, thread=2) for i in range(99)]
    boundary = frame("main", 0, 3000)
    return [
        boundary,
        *usual,
        event(name, 100, 1100, category=category),
        frame("spin", 0, 1105, thread=2),
        *busy,
    ]


@pytest.mark.parametrize(
    ("name", "category", "sure"),
    [
        ("train.py(3): step", "python_function", 0.8),
        ("<built-in method item>", "python_function", 0.6),
        ("aten::add", "cpu_op", 0.5),
    ],
)
def test_a_thread_that_is_silent_while_another_runs_python_waits_for_the_gil(
    name: str, category: str, sure: float
) -> None:
    model = tiny.model(*silent_while_another_runs(name, category))
    wait = (f"{name}@100", "GIL wait", f"{name}@1092")
    assert wait in tiny.dependencies(model, "CROSS_THREAD", binding=True)
    assert {mechanism for _, mechanism, _ in tiny.dependencies(model, "CROSS_THREAD")} == {
        "GIL wait",
        "GIL holder",
    }
    assert "(waiting for the GIL)@110" in waits(model)
    assert confidence(model, "GIL wait") == sure


def test_a_thread_does_not_wait_for_the_gil_without_the_evidence() -> None:
    rows = silent_while_another_runs("aten::add", "cpu_op")
    as_usual = [row for row in rows if row["name"] != "aten::add"] + [event("aten::add", 100, 1100)]
    no_frames = [row for row in rows if row["name"] not in ("loop", "spin")]
    another_process = [{**row, "pid": "2"} if row["tid"] == "2" else row for row in rows]
    for case in (as_usual, no_frames, another_process):
        assert tiny.dependencies(tiny.model(*case), "CROSS_THREAD") == set()


TWO_THREADS = [event("a", 0, 100), event("b", 150, 4000, thread=2), event("c", 6000, 6500)]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("evidence", ["a@0", "(untraced CPU time)@100", "c@6000"]),
        ("serialise", ["a@0", "b@150", "c@6000"]),
        ("none", ["a@0", "(untraced CPU time)@100", "c@6000"]),
    ],
)
def test_a_policy_decides_what_orders_two_threads(policy: str, expected: list[str]) -> None:
    assert tiny.path(tiny.model(*TWO_THREADS, policy=policy)) == expected


def test_serialised_threads_wait_in_what_is_no_operator() -> None:
    model = tiny.model(*TWO_THREADS, step(1, 0, 7000), policy="serialise")
    assert ("b@150", "serialised", "c@6000") in tiny.dependencies(model, "CROSS_THREAD", binding=True)
    rows = path_rows(model)
    assert np.isclose(rows.loc[rows["mechanism"] == "serialised", "confidence"], 0.5).all()
    assert "(waiting for the GIL)@100" in waits(model)


@pytest.mark.parametrize(("wakes_after", "is_awaited"), [(50, True), (300, True), (600, False)])
def test_a_thread_that_python_wakes_late_waited_all_the_same(wakes_after: float, is_awaited: bool) -> None:
    rows = []
    for i in range(20):
        begin, ended = 10_000 * i, 10_000 * i + 6_000 + 37 * i
        rows += [event("ask", begin, begin + 1_000), event("answer", begin + 1_100, ended, thread=2)]
        rows += [event("use", ended + wakes_after, ended + wakes_after + 500)]
    found = tiny.dependencies(tiny.model(*rows), "CROSS_THREAD")
    awaited = {cause for cause, how, _ in found if how == "resume" and cause.startswith("answer")}
    assert len(awaited) == (20 if is_awaited else 0)
