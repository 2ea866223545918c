"""Rows with times that cannot be: clipped where the file proves it, left alone where it does not."""

from collections.abc import Sequence

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from tiny import Model, Row, call, event, kernel, step, sync

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.integrity_findings import Finding, Integrity

CODES = ("gpu_end_impossible", "gpu_start_impossible", "cpu_end_impossible")
LONG_US = 400


def modelled(rows: Sequence[Row]) -> tuple[Model, dict[str, Finding]]:
    integrity = Integrity("tiny.json")
    model = build_model(*read_events(tiny.trace(*rows)), integrity)
    return model, {finding.code: finding for finding in integrity if finding.code in CODES}


def stream(
    count: int,
    lasts: dict[int, float],
    *,
    name: str = "work",
    number: int = 7,
    wait: str | None = "hipDeviceSynchronize",
    overlap: float = 0,
    first: int = 0,
) -> list[Row]:
    """Launches whose works of 400 µs run one after the other, and a call that waits for them.

    `lasts`: what rows say instead, µs. `overlap`: by how much each begins before the one before it has ended.
    """
    rows: list[Row] = []
    for i in range(count):
        begin = 100 + i * (LONG_US - overlap)
        rows.append(call("hipLaunchKernel", 10 * i, 10 * i + 5, first + i + 1))
        rows.append(
            kernel(f"{name}{i % 3}", begin, begin + lasts.get(i, LONG_US), first + i + 1, stream=number)
        )
    end = 100 + count * (LONG_US - overlap) + overlap
    if wait is not None:
        rows.append(call(wait, 10 * count, end + 5, first + 900))
    return rows


def lengths(model: Model) -> list[float]:
    events = model.events
    return ((events.end - events.start)[events.is_gpu] / 1000).tolist()


@pytest.mark.parametrize(
    "wait", ["hipDeviceSynchronize", "cudaStreamSynchronize", "aclrtSynchronizeDevice", None]
)
@pytest.mark.parametrize("lasts", [{4: 60_000}, {2: 2_100}, dict.fromkeys((1, 4, 7), 5000), {3: 4_294_967}])
def test_a_row_that_runs_over_later_ones_ends_at_the_next(lasts: dict[int, float], wait: str | None) -> None:
    clean, nothing = modelled(stream(12, {}, wait=wait))
    model, found = modelled(stream(12, lasts, wait=wait))
    assert nothing == {}
    assert found["gpu_end_impossible"].count == len(lasts)
    assert found["gpu_end_impossible"].level == "error"
    assert found["gpu_end_impossible"].share == pytest.approx(len(lasts) / 12)
    assert model.window == clean.window
    assert lengths(model) == [LONG_US] * 12
    assert sum(model.events.clipped > 0) == len(lasts)
    assert tiny.path(model) == tiny.path(clean)


def test_the_last_row_ends_at_the_return_of_what_waited_for_it() -> None:
    model, found = modelled(stream(4, {3: 60_000}))
    assert found["gpu_end_impossible"].count == 1
    assert lengths(model) == [LONG_US, LONG_US, LONG_US, LONG_US + 5]


def test_a_recorded_wait_is_of_its_stream_alone() -> None:
    rows = stream(2, {}, wait=None) + stream(2, {1: 60_000}, wait=None, number=8, first=50)
    ends = 100 + 2 * LONG_US
    waits = [call("cudaStreamSynchronize", 90, ends + 5, 500)]
    of_other = sync("Stream Sync", 90, ends + 5, 500, stream=7)
    of_mine = sync("Stream Sync", 90, ends + 5, 500, stream=8)
    assert modelled([*rows, *waits, of_other])[1] == {}
    assert modelled([*rows, *waits, of_mine])[1]["gpu_end_impossible"].count == 1
    assert modelled([*rows, *waits])[1] == {}, "which stream it waited for is a guess"


@pytest.mark.parametrize(
    "rows",
    [
        stream(12, {}, overlap=10),
        stream(12, {}, overlap=190),
        stream(12, dict.fromkeys(range(12), LONG_US + 1)),
        stream(12, {5: 900}),
        stream(12, {11: 60_000}, wait=None),
        # A graph's branches, and a collective that a tool put on the stream of what it overlaps.
        [call("cudaGraphLaunch", 0, 5, 1), kernel("a", 20, 2_000, 1)]
        + [kernel("b", 30 + 100 * i, 120 + 100 * i, 1) for i in range(9)],
        [*stream(12, {}), call("l", 1, 2, 80), kernel("ncclDevKernel_AllReduce", 150, 3_000, 80)],
    ],
)
def test_what_may_be_is_left_alone(rows: list[Row]) -> None:
    model, found = modelled(rows)
    assert found == {}
    assert not (model.events.clipped > 0).any()


@pytest.mark.parametrize("last", [LONG_US, 60_000])
def test_communication_that_runs_over_its_own_ends_at_the_next(last: float) -> None:
    """What holds later collectives of its stream and is longer than others; the last two hold too few."""
    rows = stream(30, {9: 60_000, 28: last}, name="ncclDevKernel_AllReduce", wait=None)
    model, found = modelled(rows)
    assert found["gpu_end_impossible"].count == 1
    assert lengths(model)[9] == LONG_US


def test_what_starts_behind_an_end_that_was_put_earlier_has_no_sure_cause() -> None:
    model, _ = modelled(stream(12, {4: 60_000}))
    found, label = model.dependencies, "work1@1700"
    behind = [i for i in range(len(found)) if tiny.label(model, found.cause[i]) == label]
    others = [i for i in range(len(found)) if tiny.label(model, found.cause[i]) == "work0@1300"]
    assert behind
    assert others
    assert all(found.confidence[behind] <= 0.5)
    assert all(found.confidence[others] > 0.5)


def test_streams_that_a_tool_merged_are_left_alone() -> None:
    """Long works that hold short ones, none of which reaches into another: two streams in one row."""
    long = [
        row
        for i in range(4)
        for row in (call("l", i, i + 1, 50 + i), kernel("long", 90 + 1_500 * i, 1_500 + 1_500 * i, 50 + i))
    ]
    model, found = modelled([*stream(15, {}, wait=None), *long])
    assert found == {}
    assert lengths(model)[-4:] == [1_410] * 4


@pytest.mark.parametrize("at_us", [-3.6e9, 3.6e9, -5e6])
def test_work_hours_from_its_launch_takes_no_part(at_us: float) -> None:
    rows = stream(12, {})
    lost = rows[7]
    rows[7] = {**lost, "start_ns": round(at_us * 1000), "end_ns": round(at_us * 1000) + 400_000}
    model, found = modelled(rows)
    assert found["gpu_start_impossible"].count == 1
    assert model.window == modelled(stream(12, {}))[0].window
    assert "work0@" not in " ".join(label for label in tiny.path(model) if f"@{at_us:g}" in label)
    assert int(model.events.is_gpu.sum()) == 11


def test_a_call_that_holds_operators_returned_before_them() -> None:
    rows = [event("op", 100 * i, 100 * i + 80) for i in range(20)]
    rows += [call("cudaLaunchKernel", 100 * i + 10, 100 * i + 20, i + 1) for i in range(20)]
    model, found = modelled([*rows, step(1, 0, 1_990)])
    assert found == {}
    rows[22] = call("cudaLaunchKernel", 210, 210 + 4_294_967, 3)
    model, found = modelled([*rows, step(1, 0, 1_990)])
    assert found["cpu_end_impossible"].count == 1
    assert (model.window.start, model.window.end) == (0, 1_990_000)


def test_an_operator_ends_with_its_step() -> None:
    rows = [event("op", 100 * i, 100 * i + 80) for i in range(20)]
    rows[4] = event("op", 400, 60_000)
    model, found = modelled([*rows, step(1, 0, 1_990), event("op", 2_000, 2_050)])
    assert found["cpu_end_impossible"].count == 1
    assert model.window.end == 2_050_000


@given(st.data())
def test_only_rows_that_overrun_are_clipped_and_none_below_its_length(data: st.DataObject) -> None:
    count = data.draw(st.integers(8, 30))
    bad = data.draw(st.sets(st.integers(0, count - 1), max_size=count // 3))
    overlap = data.draw(st.sampled_from([0, 0, 1, 10]))
    extra = data.draw(st.sampled_from([20_000, 1_600_000, 4_294_967.296]))
    lasts = dict.fromkeys(bad, LONG_US + extra)
    model, found = modelled(stream(count, lasts, overlap=overlap))
    clipped = model.events.clipped[model.events.is_gpu] > 0
    assert {i for i, flag in enumerate(clipped.tolist()) if flag} == bad
    assert ("gpu_end_impossible" in found) == bool(bad)
    assert all(LONG_US - overlap <= length <= LONG_US + 5 for length in lengths(model))
    assert model.window.end <= round(1000 * (100 + count * (LONG_US - overlap) + overlap + 5))
