"""Scenarios: what a change leaves is a graph like that of a trace, as long as was predicted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import tiny
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from phase_checks import listed, without_sink
from random_traces import replay, rows
from tiny import call, event, kernel

from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.path_rows import find_stretches, path_rows
from tracegraph.ingest.causal.graph.segments import WAIT
from tracegraph.ingest.trace import MEMORY_SCHEMA, TraceFile
from tracegraph.ingest.what_if.changes.change import Change, Span, step_window, whole_window
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.predictions.predict import Predictor
from tracegraph.ingest.what_if.predictions.results import Prediction
from tracegraph.ingest.what_if.scenarios.keep import find_scenario, scenario_tables
from tracegraph.ingest.what_if.scenarios.kept_graph import read_graph
from tracegraph.ingest.what_if.scenarios.scenario import Scenario
from tracegraph.store.tables import GraphTables
from tracegraph.vocabulary.gaps import GAP_CODE, GAP_NAMES


def changed(
    tables: GraphTables, graph: ReplayGraph, span: Span, change: Change
) -> tuple[Scenario, Prediction]:
    prediction = Predictor(graph, span).predict(change)
    return find_scenario(tables, graph, span, change, prediction), prediction


def without(trace: TraceFile, name: str, **waits: str) -> tuple[ReplayGraph, Scenario, Prediction]:
    """The scenario in which what has the name takes no time."""
    tables = tiny.tables(trace, "base")
    graph = read_graph(tables)
    removed = (graph.segments.event >= 0) & (graph.calls.name[graph.segments.event] == name)
    gaps = tuple(GAP_CODE[gap] for gap in waits.values())
    change = Change(np.where(removed, 0.0, 1.0), gaps)
    return graph, *changed(tables, graph, whole_window(graph), change)


def check_scenario(scenario: Scenario, length_ns: int) -> None:
    """The invariants of every graph; a plain replay gives every start; the path tiles the new window."""
    check_model(scenario)
    segments = scenario.segments
    found = find_stretches(scenario)
    assert scenario.window.end - scenario.window.start == length_ns == found.duration.sum()
    assert (found.start[1:] == found.end[:-1]).all()
    assert (segments.work >= 0).all()
    assert scenario.slack[scenario.sink] == 0
    assert replay(scenario).starts == segments.start.tolist()
    # Segments lie in their events, and the events of a thread in what contains them.
    own = segments.event >= 0
    assert (scenario.events.start[segments.event] <= segments.start)[own].all()
    assert (scenario.events.end[segments.event] >= segments.end)[own].all()


@settings(derandomize=True, deadline=None)
@given(
    rows().filter(
        lambda found: any(
            row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"] for row in found
        )
    ),
    st.sampled_from(["op", "frame", "k", "cudaLaunchKernel", "fw"]),
    st.sampled_from([0.0, 0.5, 3.0]),
    st.lists(st.integers(0, len(GAP_NAMES) - 1), max_size=2, unique=True),
    st.booleans(),
    st.integers(0, 99),
)
def test_random_changes(
    tmp_path_factory: pytest.TempPathFactory,
    events: list[tiny.Row],
    name: str,
    factor: float,
    gaps: list[int],
    of_step: bool,
    again: int,
) -> None:
    trace = tiny.trace(*events)
    tables = tiny.tables(trace, "base")
    graph = read_graph(tables)
    span = step_window(graph, graph.steps[0]) if of_step and graph.steps else whole_window(graph)
    assume(span.counts.any())
    chosen = (graph.segments.event >= 0) & (graph.calls.name[graph.segments.event] == name)
    change = Change(np.where(chosen, factor, 1.0), tuple(gaps))
    scenario, prediction = changed(tables, graph, span, change)
    length = scenario.window.end - scenario.window.start
    if span.length_ns == graph.window.end - graph.window.start and span.inside.all():
        assert length == prediction.naive.predicted_ns
    check_scenario(scenario, length)
    folder = tmp_path_factory.mktemp("scenario")
    kept, _ = scenario_tables(tables, scenario, "scenario", {}, folder)
    stored = read_graph(kept.completed())
    for column, expected in vars(scenario.segments).items():
        assert np.array_equal(getattr(stored.segments, column), expected), column
    for column, expected in vars(scenario.dependencies).items():
        assert np.array_equal(getattr(stored.dependencies, column), expected), column
    assert stored.sink == scenario.sink
    # A scenario is a run to ask again about.
    more = Change(np.where(np.arange(len(stored.segments)) % 100 == again, 0.0, 1.0))
    further, second = changed(kept, stored, whole_window(stored), more)
    check_scenario(further, second.naive.predicted_ns)


GPU_STEP = (
    event("op", 0, 3),
    call("l", 3, 5, 1),
    kernel("k", 8, 108, 1),
    event("beside", 5, 60),
    call("cudaDeviceSynchronize", 60, 110, 2),
    event("after", 110, 120),
)


def test_without_a_kernel_the_thread_goes_on_at_once() -> None:
    graph, scenario, prediction = without(tiny.trace(*GPU_STEP), "k")
    assert prediction.naive.predicted_ns == 72_000
    check_scenario(scenario, 72_000)
    assert tiny.path(scenario) == ["op@0", "l@3", "beside@5", "cudaDeviceSynchronize@60", "after@62"]
    times = dict(zip(scenario.events.name[:], scenario.events.start, strict=True))
    assert times["after"] == 62_000
    assert graph.calls.start[5] == 110_000


def test_a_thread_that_is_early_waits_for_the_gpu() -> None:
    _, scenario, prediction = without(tiny.trace(*GPU_STEP), "beside")
    assert prediction.naive.predicted_ns == 120_000
    kinds = tiny.kinds(scenario)
    assert kinds["(waiting for GPU)@5"] == "wait"
    assert tiny.path(scenario) == ["op@0", "l@3", "k@8", "cudaDeviceSynchronize@108", "after@110"]


def test_a_call_in_which_a_wait_begins_lasts_until_it_ends() -> None:
    # Nothing waited: the kernel was done before the call. Without what ran beside it, somebody does.
    rows = (
        event("op", 0, 3),
        call("l", 3, 5, 1),
        kernel("k", 8, 40, 1),
        event("beside", 5, 60),
        call("cudaDeviceSynchronize", 60, 62, 2),
        event("after", 62, 70),
    )
    _, scenario, _ = without(tiny.trace(*rows), "beside")
    waits = np.flatnonzero(scenario.segments.kind == WAIT)
    assert [tiny.label(scenario, at) for at in waits] == ["(waiting for GPU)@5"]
    called = scenario.events.name[scenario.segments.event[waits[0]]]
    assert called == "cudaDeviceSynchronize"
    starts = dict(zip(scenario.events.name[:], scenario.events.start, strict=True))
    ends = dict(zip(scenario.events.name[:], scenario.events.end, strict=True))
    assert ends["beside"] == starts["cudaDeviceSynchronize"] == 5_000
    assert ends["cudaDeviceSynchronize"] == starts["after"] == 42_000


def test_the_window_may_end_with_what_takes_no_time_any_more() -> None:
    rows = (event("op", 0, 3), call("l", 3, 5, 1), kernel("k", 8, 108, 1))
    _, scenario, prediction = without(tiny.trace(*rows), "k")
    assert prediction.naive.predicted_ns == 8_000
    assert scenario.segments.event[scenario.sink] == 2
    assert [*path_rows(scenario)["name"]] == ["op", "l", "launch latency"]


def test_a_removed_wait_has_no_edge_in_the_scenario() -> None:
    _, scenario, prediction = without(tiny.trace(*GPU_STEP), "nothing", gap="waiting for GPU")
    assert tiny.dependencies(scenario, "SYNCHRONIZATION") == set()
    check_scenario(scenario, prediction.naive.predicted_ns)


def test_only_the_step_that_is_asked_about_changes() -> None:
    rows = [
        row
        for number in range(3)
        for row in (
            tiny.step(number, 100 * number, 100 * number + 90),
            event("load", 100 * number, 100 * number + 40),
            event("op", 100 * number + 40, 100 * number + 90),
        )
    ]
    tables = tiny.tables(tiny.trace(*rows), "base")
    graph = read_graph(tables)
    factor = np.where(graph.calls.name[graph.segments.event] == "load", 0.0, 1.0)
    factor[graph.segments.event < 0] = 1
    scenario, _ = changed(tables, graph, step_window(graph, graph.steps[1]), Change(factor))
    assert (scenario.steps.end - scenario.steps.start).tolist() == [90_000, 50_000, 90_000]
    assert scenario.window.end == 250_000


def test_memory_rows_move_with_their_thread_and_add_up_anew() -> None:
    """Two threads allocate; without the long operator of the first its rows come before the other's."""
    rows = (event("long", 0, 50), event("short", 50, 60), event("other", 0, 60, thread=2))
    memory = pa.Table.from_pylist(
        [
            {"source_index": 9, "pid": "1", "tid": tid, "at_ns": at, "device_type": 0, "device": -1}
            | {"bytes": size, "allocated": total, "reserved": 0}
            for tid, at, size, total in (("1", 10_000, 1, 101), ("2", 20_000, 2, 103), ("1", 55_000, 4, 107))
        ],
        MEMORY_SCHEMA,
    )
    _, scenario, _ = without(replace(tiny.trace(*rows), memory=memory), "long")
    found = scenario.allocations
    assert found.at.tolist() == [0, 5_000, 20_000]
    assert found.bytes.tolist() == [1, 4, 2]
    assert found.net.tolist() == [1, 5, 7]
    assert found.allocated.tolist() == [101, 105, 107]
    assert [scenario.events.name[event] for event in found.event.tolist()] == ["long", "short", "other"]


def test_a_scenario_of_a_run_with_memory_rows_is_kept_with_them(tmp_path: Path) -> None:
    row = {"source_index": 9, "pid": "1", "tid": "1", "at_ns": 2_000, "device_type": 1, "device": 0}
    memory = pa.Table.from_pylist([row | {"bytes": 8}], MEMORY_SCHEMA)
    trace = replace(tiny.trace(*GPU_STEP), memory=memory, device_memory=[None, 64])
    _, scenario, _ = without(trace, "k")
    kept, _ = scenario_tables(tiny.tables(trace, "base"), scenario, "scenario", {}, tmp_path)
    (stored,) = kept.nodes["Allocation"].to_pylist()
    (before,) = tiny.tables(trace, "base").nodes["Allocation"].to_pylist()
    assert stored == {**before, "id": stored["id"], "run": "scenario"}
    assert kept.nodes["Trace"]["device_memory"].to_pylist() == ["[null,64]"]
    assert len(kept.relationships["DURING"]) == 1


def test_steps_and_phases_are_at_their_new_times() -> None:
    rows_ = [
        tiny.step(4, 0, 200),
        event("forward", 10, 60, category="user_annotation"),
        event("op", 20, 50),
        event("backward", 70, 120, category="user_annotation"),
        call("cudaLaunchKernel", 80, 90, 1),
        kernel("k", 95, 150, 1),
    ]
    _, scenario, _ = without(tiny.trace(*rows_), "op")
    assert listed(scenario) == [
        (4, "forward", 1, 10, 30, 30, "recorded"),
        (4, "backward", 1, 40, 90, 120, "recorded"),
    ]
    assert (scenario.steps.start.tolist(), scenario.steps.end.tolist()) == ([0], [170_000])
    assert scenario.events.name[scenario.steps.event].tolist() == ["ProfilerStep#4"]
    assert not without_sink(scenario)
