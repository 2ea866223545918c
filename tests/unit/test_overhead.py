"""What recording cost, estimated from recordings of jobs whose true times are known."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from random_traces import rows
from recorded import FRAME, OPERATOR, Job, Taken, count, recorded, training

from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.ranks.rank_part import build_checked
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of
from tracegraph.ingest.what_if.graph.overhead import (
    FROM_FILE,
    GIVEN,
    NO_OVERHEAD,
    Cost,
    Overhead,
    charge,
    estimate_overhead,
    given_overhead,
)
from tracegraph.vocabulary.categories import Role
from tracegraph.workbench.what_if.answer import Question, WhatIf, answer
from tracegraph.workbench.what_if.answer_words import ns_per_event

Find = Callable[[str], Path]
JOB = training(40)
NEAR = 0.15


def graph_of_rows(rows: list[tiny.Row]) -> ReplayGraph:
    return graph_of(tiny.model(*rows))


COSTS = [
    {FRAME: Taken(300, 120, 84), OPERATOR: Taken(450, 130, 116)},
    {FRAME: Taken(150, 200, 70), OPERATOR: Taken(900, 110, 202)},
    {FRAME: Taken(800, 150, 190)},
    {OPERATOR: Taken(500, 180, 136)},
]
"""Unseen is a fifth of what is seen, as in recordings of jobs that were timed without the profiler, too."""


@pytest.mark.parametrize("taken", COSTS)
def test_a_known_cost_is_found(taken: Mapping[str, Taken]) -> None:
    found = estimate_overhead(graph_of_rows(recorded(JOB, taken)))
    said = ns_per_event(found)
    assert found.method == FROM_FILE
    for category, cost in taken.items():
        assert said[category] == pytest.approx(cost.total, rel=NEAR)


def test_a_pause_in_what_usually_does_nothing_is_no_cost() -> None:
    lookup = Job("<built-in method get>", FRAME, after=15)
    log = Job("train.py(7): log", FRAME, 3_000_000, 1000, [lookup, lookup])
    job = replace(JOB, calls=[*JOB.calls, replace(JOB.calls[0], calls=[log])])
    said = ns_per_event(estimate_overhead(graph_of_rows(recorded(job, COSTS[0]))))
    assert said[FRAME] == pytest.approx(COSTS[0][FRAME].total, rel=NEAR)


@pytest.mark.parametrize("taken", COSTS[:3])
def test_without_it_the_job_takes_its_true_time(taken: Mapping[str, Taken]) -> None:
    graph = graph_of_rows(recorded(JOB, taken))
    said = answer(graph, "run", Question(remove=("under=train.py(7): log",))).prediction
    added = graph.window.end - graph.window.start - JOB.length
    assert said.naive.base_ns - said.corrected.base_ns == pytest.approx(added, rel=NEAR)
    assert said.overhead_ns == said.naive.base_ns - said.corrected.base_ns
    logged = sum(call.length for step in JOB.calls for call in step.calls if call.name.endswith("log"))
    assert said.corrected.gain_ns == pytest.approx(logged, rel=NEAR)
    assert said.low.gain_ns < logged < said.high.gain_ns


@pytest.mark.parametrize(
    ("job", "taken", "unit"),
    [
        (JOB, COSTS[0], 1000),  # whole µs, as simulations write them
        (JOB, {FRAME: Taken(300, 300), OPERATOR: Taken(300, 300)}, 1),  # shortest ends above 250 ns
        (training(2), COSTS[0], 1),  # few events
        (Job("train", FRAME), COSTS[0], 1),
    ],
)
def test_a_file_that_shows_no_cost(job: Job, taken: Mapping[str, Taken], unit: int) -> None:
    graph = graph_of_rows(recorded(job, taken, unit=unit))
    assert estimate_overhead(graph) == NO_OVERHEAD
    assert not charge(graph, NO_OVERHEAD).any()


@given(rows(), st.integers(0, 40_000), st.integers(0, 40_000))
def test_a_charge_is_never_more_than_the_work(events: list[tiny.Row], outside: int, inside: int) -> None:
    if all(row["category"] == "cuda_sync" or row["start_ns"] == row["end_ns"] for row in events):
        return
    graph = graph_of_rows(events)
    segments, calls = graph.segments, graph.calls
    due = Overhead(FROM_FILE, {Role.FRAME: Cost(outside, inside), Role.OPERATOR: Cost(inside, outside)})
    taken = charge(graph, due)
    assert (taken >= 0).all()
    assert (taken <= segments.work).all()
    assert not taken[~segments.on_thread].any()
    window = graph.window
    costed = calls.of_role(Role.FRAME, Role.OPERATOR) & graph.lanes.is_thread[calls.lane]
    costed &= (calls.start >= window.start) & (calls.end <= window.end)
    for lane in np.flatnonzero(graph.lanes.is_thread).tolist():
        events_here = int((costed & (calls.lane == lane)).sum())
        assert taken[segments.lane == lane].sum() <= events_here * (outside + inside)


def test_a_charge_that_the_work_can_pay_is_paid_in_full() -> None:
    graph = graph_of_rows([tiny.event("a", 0, 100), tiny.event("b", 10, 10.6), tiny.event("c", 20, 60)])
    taken = charge(graph, Overhead(FROM_FILE, {Role.OPERATOR: Cost(500, 900)}))
    names = [str(graph.calls.name[event]) for event in graph.segments.event]
    # What `b` cannot pay is taken of what follows; what is before the first is outside of the window.
    expected = [("a", 900 + 500), ("b", 600), ("a", 300 + 500), ("c", 900), ("a", 0)]
    assert list(zip(names, taken.tolist(), strict=True)) == expected
    assert taken.sum() == 3 * (500 + 900) - 500


@pytest.mark.parametrize("beside", [[], [tiny.event("d", 50, 60, thread=2)]])
def test_what_was_taken_before_the_window_is_not_in_it(beside: list[tiny.Row]) -> None:
    graph = graph_of_rows([tiny.event("a", 0, 100), *beside])
    taken = charge(graph, Overhead(FROM_FILE, {Role.OPERATOR: Cost(500, 0)}))
    assert taken[0] == 0
    assert taken.sum() == 500 * len(beside)


@pytest.mark.parametrize(("given_as", "total"), [("250", 250), (250.0, 250), ("0", 0)])
def test_a_given_cost(given_as: str | float, total: int) -> None:
    graph = graph_of_rows(recorded(JOB, COSTS[0]))
    said = answer(graph, "run", Question(remove=("name=*log",), overhead=given_as)).prediction
    events = count(JOB, FRAME) + count(JOB, OPERATOR)
    assert said.overhead.method == GIVEN
    assert ns_per_event(said.overhead) == ns_per_event(given_overhead(total))
    assert said.overhead_ns == pytest.approx(events * total, rel=0.01)


def test_no_cost_is_taken_off() -> None:
    graph = graph_of_rows(recorded(JOB, COSTS[0]))
    said = answer(graph, "run", Question(remove=("name=*log",), overhead="none")).prediction
    assert said.corrected == said.naive
    assert (said.overhead, said.overhead_ns) == (NO_OVERHEAD, 0)


def ask(path: Path, removed: str) -> WhatIf:
    integrity = Integrity(path.name)
    graph = graph_of(build_checked(read_trace(path, integrity), integrity))
    return answer(graph, path.name, Question(remove=(removed,)))


@pytest.mark.parametrize(
    ("function", "measured"),
    [
        ("augment", (1.52, 1.57, 1.61)),
        ("log_histograms", (1.11, 1.11, 1.13)),
        ("ema_update", (1.03, 1.03, 1.02)),
        ("save_state", (1.14, 1.15, 1.14)),
    ],
)
def test_functions_that_were_removed_and_timed_without_the_profiler(
    shared_trace: Find, function: str, measured: tuple[float, ...]
) -> None:
    said = ask(shared_trace("torch_cpu/whatif_cpu_stack.json.gz"), f"under={function}").prediction
    assert said.corrected.speedup == pytest.approx(sorted(measured)[1], rel=0.1)
    for speedup in measured:  # to two digits
        assert round(said.low.speedup, 2) <= speedup <= round(said.high.speedup, 2)


def test_a_loader_that_was_made_free_and_timed(shared_trace: Find) -> None:
    said = ask(shared_trace("torch_cpu/resnet18_slow_loader.json.gz"), "under=DataLoader").prediction
    assert 2.65 * 0.95 <= said.corrected.speedup <= 2.74 * 1.05
    assert said.low.speedup <= 2.65
    assert said.high.speedup >= 2.74
