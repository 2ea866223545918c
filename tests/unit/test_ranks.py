"""Rank is a column: what has two ranks keeps them apart, from the events to the tables."""

from dataclasses import replace

import numpy as np
import tiny
from tiny import call, event, kernel, step

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.graph.allocations import find_allocations
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.causal.graph.path_rows import path_table
from tracegraph.ingest.causal.launches.launches import match_launches
from tracegraph.ingest.causal.steps.steps import find_steps
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.tables.gpu_work import with_kernel_types
from tracegraph.ingest.tables.graph import build_tables
from tracegraph.ingest.trace import file_facts

ROWS = (
    step(1, 0, 50, thread=1),
    step(1, 60, 90, thread=1),
    step(2, 100, 150, thread=1),
    step(1, 10, 70, thread=2),
    event("late", 55, 65, thread=2),
    call("l", 60, 64, 1, thread=2),
    kernel("k", 66, 80, 1),
    event("between", 52, 55, thread=1),
)
"""Two processes with one step number; the second one's thread and GPU are rank 3."""


def two_ranks() -> tuple[Events, Lanes]:
    events, lanes = read_events(tiny.trace(*ROWS))
    of_lane = np.where(lanes.frame["tid"] == "1", 0, 3)
    return replace(events, rank=of_lane[events.lane]), Lanes(lanes.frame.assign(rank=of_lane))


def test_steps_with_one_number_are_one_of_each_rank() -> None:
    events, _ = two_ranks()
    steps = find_steps(events, match_launches(events))
    assert list(zip(steps.rank.tolist(), steps.number.tolist(), strict=True)) == [(0, 1), (0, 2), (3, 1)]
    assert steps.start.tolist() == [0, 100_000, 10_000]
    assert steps.window_end.tolist() == [50_000, 150_000, 80_000]


def test_events_run_in_the_steps_of_their_rank() -> None:
    events, _ = two_ranks()
    of_event = find_steps(events, match_launches(events)).of_event.tolist()
    assert of_event == [1, NONE, 2, 1, 1, 1, 1, NONE]


def test_processes_with_one_id_on_two_ranks_are_two() -> None:
    _, lanes = two_ranks()
    threads = lanes.process[lanes.is_thread]
    assert len(set(threads.tolist())) == 2
    assert len(set(read_events(tiny.trace(*ROWS))[1].process[lanes.is_thread].tolist())) == 1


def test_tables_have_the_rank_of_each_row() -> None:
    model = build_model(*two_ranks(), Integrity("tiny.json"))
    trace = tiny.trace(*ROWS)
    first = file_facts(trace, 0, 0)
    graph = build_tables(
        [first, replace(first, rank=3)],
        with_kernel_types(trace.events),
        find_allocations(trace, model),
        model,
        "run",
    )
    assert graph.nodes["Event"]["rank"].to_pylist() == [0, 0, 0, 3, 3, 3, 3, 0]
    assert graph.nodes["Step"]["rank"].to_pylist() == [0, 0, 3]
    of_lane = dict(zip(*(graph.nodes["Lane"][name].to_pylist() for name in ("lane", "rank")), strict=True))
    assert set(of_lane.values()) == {0, 3}
    for rows in (graph.nodes["Segment"], graph.nodes["Chain"], path_table(model)):
        assert rows["rank"].to_pylist() == [of_lane[lane] for lane in rows["lane"].to_pylist()]
    assert graph.nodes["Trace"]["rank"].to_pylist() == [0, 3]
    own = dict(zip(graph.nodes["Trace"]["id"].to_pylist(), (0, 3), strict=True))
    lanes = graph.nodes["Lane"]
    rank = dict(zip(lanes["id"].to_pylist(), lanes["rank"].to_pylist(), strict=True))
    of_trace = graph.relationships["OF_TRACE"].to_pylist()
    assert {rank[row["start"]] == own[row["end"]] for row in of_trace} == {True}
