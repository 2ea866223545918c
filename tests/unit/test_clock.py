"""The GPU's clock against the CPU's: offset and drift from pairs of calls and GPU work, or nothing."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import tiny

from tracegraph.ingest.causal.clock.clock import GpuClock
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.graph.model import Model, build_model
from tracegraph.ingest.causal.launches.launches import match_launches, measure_lags, order_streams
from tracegraph.ingest.integrity_findings import Integrity

STEPS = 24
EVERY_US = 5_000
Clock = Callable[[float], float]


def late(offset_us: float, ppm: float = 0) -> Clock:
    """A GPU's clock that is `offset_us` ahead at first."""
    return lambda time: time + offset_us + time * ppm * 1e-6


def step(
    number: int, clock: Clock, *, latency_us: float = 3, waits: bool = True, copies: bool = False
) -> list[tiny.Row]:
    """A launch, its work `latency_us` later, and a call that returns 3 µs after it, or a copy that blocks."""
    at, first = 10 + EVERY_US * number, 10 * number + 1
    begin, end = at + 5 + latency_us, at + 300
    rows = [
        tiny.event("op", at - 5, at - 2),
        tiny.call("cudaLaunchKernel", at, at + 5, first),
        tiny.kernel("work", clock(begin), clock(end), first),
    ]
    if waits:
        rows.append(tiny.call("cudaDeviceSynchronize", at + 6, end + 3, first + 1))
    if copies:
        copy = {"category": "gpu_memcpy"}
        name = "Memcpy DtoH (Device -> Pageable)"
        rows.append(tiny.call("cudaMemcpyAsync", at + 6, end + 6, first + 2))
        rows.append(tiny.kernel(name, clock(end + 1), clock(end + 3), first + 2, **copy))
    return rows


def steps(clock: Clock, **more: float | bool) -> list[tiny.Row]:
    return [row for number in range(STEPS) for row in step(number, clock, **more)]  # type: ignore[arg-type]


def modelled(rows: Sequence[tiny.Row]) -> tuple[Model, dict[object, object]]:
    integrity = Integrity("tiny.json")
    model = build_model(*read_events(tiny.trace(*rows)), integrity)
    return model, {row["code"]: row["message"] for row in integrity.rows()}


def errors_us(model: Model, latency_us: float = 3) -> list[float]:
    """By how much each step's work is late once it was moved."""
    events = model.events
    starts = events.start[events.is_gpu & (events.name[:] == "work")] / 1000
    return (starts - 15 - latency_us - EVERY_US * np.arange(STEPS)).tolist()


@pytest.mark.parametrize("offset_us", [-4_000, -40, -9, 9, 40, 4_000])
def test_an_offset_is_taken_back(offset_us: int) -> None:
    model, codes = modelled(steps(late(offset_us)))
    assert "gpu_clock_shifted" in codes
    assert model.clock_drift_ppb == 0
    assert max(map(abs, errors_us(model))) <= 1


@pytest.mark.parametrize("ppm", [-200, -100, 100, 200])
@pytest.mark.parametrize("offset_us", [-30, 0, 30])
def test_a_drift_is_taken_back(offset_us: int, ppm: int) -> None:
    model, _ = modelled(steps(late(offset_us, ppm)))
    assert abs(model.clock_drift_ppb + 1_000 * ppm) <= 3_000
    assert max(map(abs, errors_us(model))) <= 1.5


def test_copies_that_block_date_the_clock() -> None:
    model, _ = modelled(steps(late(20, 100), waits=False, copies=True))
    assert max(map(abs, errors_us(model))) <= 1.5


def test_a_clock_that_contradicts_nothing_is_left_alone() -> None:
    for offset_us in (-7, 2):
        model, codes = modelled(steps(late(offset_us)))
        assert (model.clock_offset_ns, model.clock_drift_ppb, codes.keys() & {"gpu_clock_shifted"}) == (
            0,
            0,
            set(),
        )


def test_launches_alone_get_their_usual_latency_and_only_where_one_is_early() -> None:
    model, _ = modelled(steps(late(-30), waits=False))
    assert model.clock_offset_ns == 29_000
    assert modelled(steps(late(30), waits=False))[0].clock_offset_ns == 0


def test_returns_get_their_usual_lag_where_launches_leave_more_room() -> None:
    model, _ = modelled(steps(late(20), latency_us=100))
    assert model.clock_offset_ns == -21_000


def wrong_pairs() -> list[tiny.Row]:
    """Works long before their calls, and a call that returns long before its work ends."""
    rows = [
        row
        for number, early in enumerate((900, 2_100))
        for at in (2_000 + 7 * EVERY_US * (number + 1),)
        for row in (
            tiny.call("cudaLaunchKernel", at, at + 5, 1_000 + number),
            tiny.kernel("wrong", at - early, at - early + 1, 1_000 + number, stream=9),
        )
    ]
    at = 3_000 + 11 * EVERY_US
    return [
        *rows,
        tiny.call("cudaLaunchKernel", at, at + 5, 1_100),
        tiny.kernel("wrong", at + 8, at + 500, 1_100, stream=9),
        tiny.call("cudaDeviceSynchronize", at + 6, at + 100, 1_101),
    ]


def test_a_few_wrong_pairs_change_nothing() -> None:
    model, codes = modelled([*steps(late(-20, 100)), *wrong_pairs()])
    assert max(map(abs, errors_us(model))) <= 1.5
    assert "contradictions stay" in str(codes["gpu_clock_shifted"])
    model, codes = modelled([*steps(late(0)), *wrong_pairs()])
    assert (model.clock_offset_ns, model.clock_drift_ppb) == (0, 0)
    assert "2 of 52 pairs" in str(codes["gpu_clock_inconsistent"])
    assert "gpu_end_impossible" in codes, "the work that ends long after the return has no such time"


def test_lags_of_a_queue_do_not_hide_what_the_starts_of_calls_prove() -> None:
    # Three kernels start 7 µs after their calls began, dated 40 µs early. Thirty stand in a queue: they
    # seem to start 20 µs after their calls ended, whose lengths differ. That repeats better, but mends none
    # of the three contradictions.
    rows = []
    for one in range(3):
        at, number = 1_000 + 1_000 * one, 1 + one
        rows += [
            tiny.call("cudaLaunchKernel", at, at + 5, number),
            tiny.kernel("first", at + 7 - 40, at + 100 - 40, number),
            tiny.call("cudaDeviceSynchronize", at + 20, at + 104, 100 + one),
        ]
    for one in range(30):
        at, number = 10_000 + 200 * one, 10 + one
        end = at + 5 + 2 * one
        rows.append(tiny.call("cudaLaunchKernel", at, end, number))
        rows.append(tiny.kernel("queued", end + 60 - 40, end + 100 - 40, number))
    model, codes = modelled(rows)
    assert 33_000 <= model.clock_offset_ns <= 44_000
    assert "gpu_clock_shifted" in codes


def test_a_clock_is_not_dated_by_ends_that_no_launch_has() -> None:
    """A copy that begins before its call, which has no length: only its start dates anything."""
    copy = tiny.kernel("Memcpy HtoD (Pageable -> Device)", -1, -1, 1, category="gpu_memcpy", bytes=400)
    rows = [copy, tiny.event("aten::relu", 0, 1), tiny.call("cudaLaunchKernel", 0, 0, 1)]
    model, codes = modelled(rows)
    assert "gpu_clock_shifted" in codes or "gpu_clock_inconsistent" in codes
    assert model.window.end > model.window.start


def test_an_id_of_several_calls_dates_nothing() -> None:
    again = [
        tiny.call("cudaLaunchKernel", 2_000, 2_005, 5_000),
        tiny.kernel("k", 2_010, 2_020, 5_000),
        tiny.call("cudaLaunchKernel", 3_000, 3_005, 5_000),
        tiny.kernel("k", 1_999, 2_000, 5_000),
    ]
    model, codes = modelled([*steps(late(0)), *again])
    assert model.clock_offset_ns == 0
    assert not codes.keys() & {"gpu_clock_shifted", "gpu_clock_inconsistent"}


def test_clocks_that_nothing_brings_together_stay_and_no_interval_is_named() -> None:
    rows = [row for number in range(STEPS) for row in step(number, late((-1) ** number * 700.0 * number))]
    model, codes = modelled(rows)
    assert (model.clock_offset_ns, model.clock_drift_ppb) == (0, 0)
    assert str(codes["gpu_clock_inconsistent"]).endswith("no offset and drift of the GPU's clock mends that")


def test_a_correction_is_told_from_any_moment() -> None:
    assert GpuClock(1_000, 100_000, 0).at(2_000_000_000) == GpuClock(201_000, 100_000, 2_000_000_000)
    model, _ = modelled(steps(late(-30, -100)))
    assert GpuClock(model.clock_offset_ns, model.clock_drift_ppb, model.window.start) == model.scene.clock


def test_rows_that_a_drift_moves_keep_their_order() -> None:
    events: Events = read_events(tiny.trace(*(tiny.kernel("k", t, t + 1, None) for t in range(200))))[0]
    moved = events.shift_gpu(-5, -300_000, 7)
    assert (moved.start[1:] >= moved.end[:-1]).all()
    assert moved.start[0] == -5


def test_launches_from_inside_their_calls_have_no_latency_from_the_end() -> None:
    rows = [row for number in range(STEPS) for row in step(number, late(0), latency_us=-2, waits=False)]
    rows += step(STEPS, late(0), latency_us=40, waits=False)
    events, lanes = read_events(tiny.trace(*rows))
    launches = match_launches(events)
    lags = measure_lags(events, launches, order_streams(events, launches), len(lanes.frame))
    assert (lags.launch_from_start, lags.launch_from_end) == (3_000, 0)
    assert NONE not in lags.stream_order
