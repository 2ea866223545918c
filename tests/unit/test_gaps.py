"""The name of each gap with the evidence of its rule, and without it: then it stays unknown."""

import pandas as pd
import pytest
import tiny
from tiny import Model, Row, call, event, kernel

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.causal.graph.path_rows import path_rows
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.tables.graph import build_graph
from tracegraph.store.schema.schema import DEPENDENCIES


def gaps(model: Model) -> dict[str, float]:
    """Length of each kind of gap on the path, µs."""
    rows = path_rows(model)
    rows = rows[rows["category"] == "gap"]
    return {
        str(name): float(ns) / 1000
        for name, ns in (rows["end_ns"] - rows["start_ns"]).groupby(rows["name"]).sum().items()
    }


def launched(start: float) -> list[Row]:
    return [call("l", 0, 2, 1), kernel("k", start, start + 100, 1)]


def queued(start: float, count: int) -> list[Row]:
    """Launches at the beginning whose kernels of 100 µs run one after the other from `start` on."""
    calls = [call("l", 2 * i, 2 * i + 2, i + 1) for i in range(count)]
    begin = [start + 101 * i for i in range(count)]
    return [*calls, *(kernel("k", at, at + 100, i + 1) for i, at in enumerate(begin))]


def blocked_copy(start: float, until: float) -> list[Row]:
    """A kernel that starts at `start`, and a copy right behind it whose call returns at `until`."""
    copy = kernel("Memcpy HtoD (Pageable -> Device)", start + 101, start + 110, 2, category="gpu_memcpy")
    return [*launched(start), call("hipMemcpyWithStream", 3, until, 2), copy]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (launched(12), {"launch latency": 10}),
        (launched(1002), {"unknown": 1000}),
        (
            [*launched(1002), call("l", 2, 3, 2), kernel("other", 5, 980, 2, stream=8)],
            {"GPU busy with other work": 1000},
        ),
        ([*launched(1002), call("l", 2, 3, 2), kernel("other", 5, 700, 2, stream=8)], {"unknown": 1000}),
        ([call("cudaGraphLaunch", 0, 2, 1), kernel("k", 1002, 1100, 1)], {"unrecorded graph work": 1000}),
        (
            [call("cudaGraphLaunch", 0, 2, 1), kernel("a", 4, 10, 1), kernel("b", 1010, 1100, 1)],
            {"launch latency": 2, "unrecorded graph work": 1000},
        ),
        (
            [*launched(4), call("l", 2, 3, 2), kernel("late", 1104, 1200, 2)],
            {"launch latency": 2, "unknown": 1000},
        ),
        (
            [*launched(4), call("l", 2, 3, 2), kernel("queued", 106, 200, 2)],
            {"launch latency": 2, "stream queue": 2},
        ),
        ([event("a", 0, 10), event("b", 500, 600)], {"untraced CPU time": 490}),
        (
            [kernel("early", 0, 10, None), kernel("next", 1010, 1100, None), *queued(1101, 1)],
            {"work from before the recording": 1000, "stream queue": 1},
        ),
        (
            [*queued(1101, 1), kernel("early", 0, 10, None), kernel("lost", 1210, 1300, None)],
            {"unknown": 1091, "stream queue": 9},
        ),
        (queued(1000, 4), {"work from before the recording": 998, "stream queue": 3}),
        (queued(1000, 3), {"unknown": 998, "stream queue": 2}),
        (blocked_copy(1000, until=1115), {"work from before the recording": 998, "stream queue": 1}),
        (blocked_copy(1000, until=1050), {"unknown": 998, "stream queue": 1}),
    ],
)
def test_a_lag_before_gpu_work_has_a_name_only_where_something_explains_it(
    rows: list[Row], expected: dict[str, float]
) -> None:
    assert gaps(tiny.model(*rows)) == expected


def test_a_launch_beside_a_graph_is_named_by_the_graph_while_it_runs() -> None:
    graph = [call("cudaGraphLaunch", 0, 2, 1), kernel("a", 4, 10, 1), kernel("b", 950, 960, 1)]
    model = tiny.model(*graph, call("l", 2, 3, 2), kernel("nccl", 970, 2000, 2, stream=20))
    assert gaps(model)["unrecorded graph work"] > 900


def test_a_stream_that_goes_on_just_after_another_one_waited_for_it() -> None:
    rows = [call("l", 0, 2, 1), kernel("long", 4, 1000, 1, stream=8), call("l", 3, 5, 2)]
    waited = tiny.model(*rows, kernel("k", 1005, 1100, 2))
    assert ("long@4", "stream resume", "k@1005") in tiny.dependencies(waited, "SYNCHRONIZATION", binding=True)
    later = tiny.model(*rows, kernel("k", 1030, 1100, 2))
    assert tiny.dependencies(later, "SYNCHRONIZATION") == set()
    soon = tiny.model(*rows, kernel("other", 6, 20, None, stream=9), kernel("k", 25, 1100, 2))
    assert tiny.dependencies(soon, "SYNCHRONIZATION") == set()


def test_an_end_among_many_proves_nothing() -> None:
    noise = [kernel("tick", 10 * i, 10 * i + 5, None, stream=8) for i in range(1, 100)]
    model = tiny.model(call("l", 0, 5, 1), kernel("k", 996, 1100, 1), *noise)
    assert tiny.dependencies(model, "SYNCHRONIZATION") == set()


def test_without_work_on_the_gpu_of_its_own_a_device_explains_nothing() -> None:
    elsewhere = kernel("other", 5, 1000, 2, stream=8, device=1)
    model = tiny.model(*launched(1002), call("l", 2, 3, 2), {**elsewhere, "pid": "1"})
    assert gaps(model) == {"unknown": 1000}


def turns(lengths: list[float]) -> list[Row]:
    """Kernels that each wait for one pause of the device, launched 10 µs after the one before ended."""
    rows: list[Row] = []
    at = 0.0
    for number, pause in enumerate(lengths, 1):
        rows += [call("l", at + 10, at + 12, number), kernel("k", at + pause, at + pause + 50, number)]
        rows += [call("cudaStreamSynchronize", at + 13, at + pause + 50, 100 + number)]
        at += pause + 50
    return rows


def test_pauses_of_one_length_with_work_waiting_are_the_turns_of_another_process() -> None:
    even = gaps(tiny.model(*turns([2400, 2390, 2410, 2400, 2395, 2405])))
    assert even["GPU turn of another process"] == 2378 + 2398 + 2388 + 2383 + 2393
    assert even["unknown"] == 2388  # no work before it that would tell how long the device paused


@pytest.mark.parametrize("lengths", [[2400, 2390, 2410, 2400], [2400, 900, 3300, 1500, 700, 5000]])
def test_few_or_uneven_pauses_stay_unknown(lengths: list[float]) -> None:
    uneven = gaps(tiny.model(*turns(lengths)))
    assert "GPU turn of another process" not in uneven
    assert uneven["unknown"] > 4000


def test_every_binding_edge_with_a_gap_carries_its_name() -> None:
    trace = tiny.trace(
        *queued(12, 3),
        *(call("l", 6, 7, 9), kernel("late", 300, 400, 9, stream=8)),
    )
    model = build_model(*read_events(trace), Integrity(trace.path))
    tables = build_graph(trace, model, "tiny").relationships
    edges = pd.concat([tables[kind].to_pandas() for kind in DEPENDENCIES], ignore_index=True)
    with_gap = edges["binding"] & edges["gap_ns"].gt(0)
    assert edges["gap_name"].notna().equals(with_gap)
    named = edges[with_gap]
    assert set(zip(named["mechanism"].astype(str), named["gap_name"].astype(str), strict=True)) == {
        ("launch", "launch latency"),
        ("launch", "GPU busy with other work"),
        ("stream order", "stream queue"),
    }
    assert edges["gap_ns"][~edges["binding"]].gt(0).any()
