"""When the events of a run are in a replay: as in the file without a change, nested and in order with one."""

import numpy as np
import tiny
from hypothesis import assume, given
from hypothesis import strategies as st
from random_traces import rows
from tiny import call, event, kernel

from tracegraph.ingest.what_if.changes.change import Change, whole_window
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of
from tracegraph.ingest.what_if.graph.timeline import event_times, segment_times
from tracegraph.ingest.what_if.predictions.predict import Predictor

Times = tuple[list[int], list[int], list[bool]]


def times(graph: ReplayGraph, change: Change) -> Times:
    """Start and end of each event after a change, and which are known."""
    predicted = Predictor(graph, whole_window(graph)).predict(change)
    start, end, known = event_times(graph, *segment_times(graph, predicted.after.start, predicted.after_work))
    return start.tolist(), end.tolist(), known.tolist()


@st.composite
def graphs(draw: st.DrawFn) -> ReplayGraph:
    events = draw(rows())
    assume(any(row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"] for row in events))
    return graph_of(tiny.model(*events))


@given(graphs())
def test_without_a_change_they_are_as_in_the_file(graph: ReplayGraph) -> None:
    calls, segments = graph.calls, graph.segments
    start, end, _ = times(graph, Change(np.ones(len(segments))))
    # GPU work is complete where what it causes begins, though its row may last longer.
    complete = calls.end.copy()
    on_gpu = np.flatnonzero(segments.gpu_last >= 0)
    complete[on_gpu] = segments.end[segments.gpu_last[on_gpu]]
    assert start == calls.start.tolist()
    assert end == complete.tolist()


@given(graphs(), st.integers(0, 2**32 - 1))
def test_calls_stay_inside_their_callers_and_in_order(graph: ReplayGraph, seed: int) -> None:
    chance, calls = np.random.default_rng(seed), graph.calls
    factor = np.where(chance.random(len(graph.segments)) < 0.5, 0, chance.random(len(graph.segments)) * 2)
    start, end, known = times(graph, Change(factor))
    for one, above in enumerate(calls.parent.tolist()):
        assert start[one] <= end[one]
        if above >= 0 and known[one] and known[above]:
            assert start[above] <= start[one]
            assert end[one] <= end[above]
    for lane in np.unique(calls.lane).tolist():
        mine = [i for i in np.flatnonzero(calls.lane == lane).tolist() if known[i]]
        for one in mine:
            for other in mine:
                at_once = calls.start[one] == calls.end[one] == calls.start[other] == calls.end[other]
                if calls.end[one] <= calls.start[other] and graph.lanes.is_thread[lane] and not at_once:
                    assert end[one] <= start[other]


def test_without_the_kernel() -> None:
    model = tiny.model(
        event("train", 0, 130),
        call("l", 3, 5, 1),
        event("marker", 6, 6),
        kernel("k", 8, 108, 1),
        call("cudaDeviceSynchronize", 10, 110, 2),
        event("after", 120, 130),
    )
    graph = graph_of(model)
    removed = model.events.name[model.segments.event] == "k"
    start, end, _ = times(graph, Change(np.where(removed, 0.0, 1.0)))
    names = [str(name) for name in graph.calls.name]
    assert {name: (start[i] / 1000, end[i] / 1000) for i, name in enumerate(names)} == {
        "train": (0, 32),
        "l": (3, 5),
        "marker": (6, 6),
        "k": (8, 8),
        "cudaDeviceSynchronize": (10, 12),
        "after": (22, 32),
    }
