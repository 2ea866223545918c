"""What GPU work adds to busy, idle, queued and copied, against looking at every moment."""

from collections.abc import Callable

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tiny import Row, call, kernel, trace

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.launches.launches import match_launches
from tracegraph.ingest.tables.gpu_work import gpu_work_columns, with_kernel_types
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION, KERNEL_TYPES, MEMORY

US = 1000
NAMES = {
    COMPUTATION: "gemm",
    COMMUNICATION: "ncclDevKernel_AllReduce",
    MEMORY: "Memcpy HtoD (Pinned -> Device)",
}


@st.composite
def gpu_rows(draw: st.DrawFn) -> list[Row]:
    """Work on three streams that overlaps as it likes, half of it launched by calls, anywhere in time."""
    rows: list[Row] = []
    for number in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(KERNEL_TYPES))
        start, length = draw(st.integers(0, 20)), draw(st.integers(0, 8))
        more: dict[str, object] = {"category": "gpu_memcpy"} if kind == MEMORY else {}
        more |= {"bytes": draw(st.integers(1, 5) | st.none())} if kind == MEMORY else {}
        correlation = 1 + draw(st.integers(0, number)) if draw(st.booleans()) else 1 + number
        stream = draw(st.integers(1, 3))
        rows.append(kernel(NAMES[kind], start, start + length, correlation, stream=stream, **more))
    for correlation in {row["correlation"] for row in rows if draw(st.booleans())}:
        at = draw(st.integers(0, 20))
        rows.append(call("launch", at, at + 1, correlation))
    return rows


def columns(rows: list[Row]) -> list[dict[str, object]]:
    """The columns of the GPU work among some rows, with what the rows say."""
    file = trace(*rows)
    stated, (events, _) = with_kernel_types(file.events), read_events(file)
    found = pa.table(dict(gpu_work_columns(stated, events, match_launches(events))))
    return [{**row, **more} for row, more in zip(rows, found.to_pylist(), strict=True) if more["kernel_type"]]


def open_during(rows: list[Row], holds: Callable[[Row], bool] = lambda row: True) -> set[int]:
    """Every µs in which a row that holds runs."""
    return {
        moment for row in rows if holds(row) for moment in range(row["start_ns"] // US, row["end_ns"] // US)
    }


def of_type(*types: str) -> Callable[[Row], bool]:
    return lambda row: row["kernel_type"] in types


def total(rows: list[Row], column: str) -> int:
    return sum(row[column] or 0 for row in rows)


@given(gpu_rows())
def test_what_work_adds_to_busy_time_is_its_union(rows: list[Row]) -> None:
    work = columns(rows)
    assert total(work, "busy_ns") == US * len(open_during(work))
    for kind in KERNEL_TYPES:
        own = [row for row in work if row["kernel_type"] == kind]
        assert total(own, "type_busy_ns") == US * len(open_during(own))
        rest = [other for other in KERNEL_TYPES if other != kind]
        assert total(work, f"busy_without_{kind}_ns") == US * len(open_during(work, of_type(*rest)))


@given(gpu_rows(), st.integers(0, 28), st.integers(0, 28))
def test_what_lies_in_a_window_is_the_union_there(rows: list[Row], one: int, other: int) -> None:
    begin, end = min(one, other), max(one, other)
    work = columns(rows)
    inside = sum(
        max(0, min(row["end_ns"], end * US) - max(row["end_ns"] - row["busy_ns"], begin * US)) for row in work
    )
    assert inside == US * len(open_during(work) & set(range(begin, end)))


@given(gpu_rows())
def test_exposed_communication_is_what_no_computation_covers(rows: list[Row]) -> None:
    work = columns(rows)
    alone = open_during(work, of_type(COMMUNICATION)) - open_during(work, of_type(COMPUTATION))
    assert total(work, "exposed_ns") == US * len(alone)
    assert all((row["exposed_ns"] is None) == (row["kernel_type"] != COMMUNICATION) for row in work)


@given(gpu_rows())
def test_idle_time_is_what_the_union_leaves(rows: list[Row]) -> None:
    work = columns(rows)
    groups = [("idle_ns", work)]
    groups += [("stream_idle_ns", [r for r in work if r["stream"] == stream]) for stream in (1, 2, 3)]
    for column, own in groups:
        if own:
            span = max(row["end_ns"] for row in own) - min(row["start_ns"] for row in own)
            assert total(own, column) == span - US * len(open_during(own))
            assert sum(row[column] is None for row in own) == 1


@given(gpu_rows())
def test_queues_hold_what_is_launched_and_not_begun(rows: list[Row]) -> None:
    work, calls = columns(rows), {row["correlation"]: row for row in rows if row["name"] == "launch"}
    ids = [row["correlation"] for row in work]
    alone = [row for row in work if ids.count(row["correlation"]) == 1 and row["correlation"] in calls]
    for row in work:
        assert (row["queue_at_launch"] is None) == (row not in alone)
    for stream in (1, 2, 3):
        own = [row for row in alone if row["stream"] == stream]
        points = sorted(
            [(calls[row["correlation"]]["start_ns"], 0) for row in own]
            + [(row["start_ns"], 1) for row in own]
        )
        lengths = sorted(sum(1 - 2 * begins for _, begins in points[: k + 1]) for k in range(len(points)))
        assert sorted(row[f"queue_at_{when}"] for row in own for when in ("launch", "start")) == lengths
        for row in own:
            begun = [other for other in own if other["start_ns"] < row["start_ns"]]
            launched = [o for o in own if calls[o["correlation"]]["start_ns"] <= row["start_ns"]]
            together = [other for other in own if other["start_ns"] == row["start_ns"]]
            queued = len(launched) - len(begun)
            assert queued - len(together) <= row["queue_at_start"] < queued


@given(gpu_rows())
def test_bandwidth_is_that_of_all_copies_that_run(rows: list[Row]) -> None:
    work = columns(rows)
    sized = [row for row in work if row.get("bytes") is not None and row["end_ns"] > row["start_ns"]]
    rate = {id(row): round(row["bytes"] * 10**9 / (row["end_ns"] - row["start_ns"])) for row in sized}
    for row in work:
        assert (row["bandwidth_at_start"] is None) == (id(row) not in rate)
    for row in sized:
        running = [o for o in sized if o["start_ns"] <= row["end_ns"] - 1 < o["end_ns"]]
        until = sum(rate[id(o)] for o in sized if o["start_ns"] < row["end_ns"] < o["end_ns"])
        together = sum(rate[id(o)] for o in running if o["end_ns"] == row["end_ns"])
        assert until <= row["bandwidth_at_end"] <= until + together - rate[id(row)]


def test_what_the_file_states_of_a_copy_counts_before_its_whole_microseconds() -> None:
    copy = {"category": "gpu_memcpy", "stream": 1, "bytes": 3000}
    rows = [
        kernel("Memcpy HtoD (a)", 0, 2, 1, **copy, bandwidth=1_200_000_000),
        kernel("Memcpy HtoD (b)", 5, 5, 2, **copy, bandwidth=6_000_000_000),
        kernel("Memcpy HtoD (c)", 7, 7, 3, **copy),
        kernel("Memcpy HtoD (d)", 9, 10, 4, **copy),
    ]
    pairs = [(row["bandwidth_at_start"], row["bandwidth_at_end"]) for row in columns(rows)]
    assert pairs == [(1_200_000_000, 0), (6_000_000_000, 0), (None, None), (3_000_000_000, 0)]


def test_a_size_that_no_copy_can_move_tells_no_bandwidth() -> None:
    copy = {"category": "gpu_memcpy"}
    rows = [
        kernel("Memcpy HtoD (a)", 0, 5, 1, **copy, bytes=2**62),
        kernel("Memcpy HtoD (b)", 0, 5, 2, **copy, bytes=5_000),
    ]
    assert [row["bandwidth_at_start"] for row in columns(rows)] == [None, 1_000_000_000]
