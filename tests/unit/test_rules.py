"""Each rule of the causal model on a trace of a few rows: when it fires, and when it must not."""

from collections.abc import Callable

import numpy as np
import pytest
import tiny
from tiny import Model, call, event, kernel, step, sync

from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.launches.launches import measure_lags, order_streams
from tracegraph.vocabulary.mechanisms import CODE


def test_a_kernel_is_launched_by_the_call_with_its_correlation_whatever_its_name() -> None:
    model = tiny.model(call("anyLaunchEx", 0, 4, 9), kernel("k", 6, 20, 9))
    assert tiny.dependencies(model, "INVOCATION") == {("anyLaunchEx@0", "launch", "k@6")}
    assert tiny.path(model) == ["anyLaunchEx@0", "k@6"]


def test_a_kernel_that_starts_inside_its_call_leaves_the_call_one_usual_latency_before() -> None:
    usual = [
        row
        for i in range(4)
        for row in (call("l", 20 * i, 20 * i + 4, i + 1), kernel("k", 20 * i + 5, 20 * i + 9, i + 1))
    ]
    model = tiny.model(*usual, call("l", 80, 90, 9), kernel("early", 87, 99, 9))
    assert ("l@80", "launch", "early@87") in tiny.dependencies(model, "INVOCATION", binding=True)
    assert tiny.path(model)[-2:] == ["l@80", "early@87"]
    assert "l@83.5" in tiny.kinds(model)


def test_a_kernel_before_its_call_keeps_its_edge() -> None:
    contradiction = call("cudaDeviceSynchronize", 56, 70, 2)
    model = tiny.model(event("op", 0, 50), call("l", 50, 55, 1), kernel("k", 45, 70, 1), contradiction)
    assert model.clock_offset_ns == 0
    assert tiny.dependencies(model, "INVOCATION") == {("op@0", "launch", "k@45")}


def test_work_of_a_stream_is_ordered_unless_it_overlaps() -> None:
    model = tiny.model(
        call("l", 0, 1, 1), kernel("a", 2, 10, 1), kernel("b", 10, 20, None), kernel("c", 13, 21, 1)
    )
    assert tiny.dependencies(model, "SEQUENTIAL") & {
        ("a@2", "stream order", "b@10"),
        ("b@10", "stream order", "c@13"),
    } == {("a@2", "stream order", "b@10")}


def test_noise_of_the_times_does_not_break_the_order_of_a_stream() -> None:
    works = [kernel("a", 5, 40, 1), kernel("b", 39.7, 60, 2), kernel("c", 61, 80, 3)]
    model = tiny.model(*(call("l", i, i + 1, i + 1) for i in range(3)), *works)
    assert {("a@5", "stream order", "b@39.7"), ("b@39.7", "stream order", "c@61")} < tiny.dependencies(
        model, "SEQUENTIAL", binding=True
    )
    check_model(model)
    a = int(np.flatnonzero(model.events.name[model.segments.event] == "a")[0])
    assert model.segments.completion[a] == 39_700


def test_where_most_overlaps_are_deep_none_is_noise() -> None:
    deep = [kernel("d", 100 + 20 * i, 190 + 20 * i, 3 + i) for i in range(4)]
    works = [kernel("a", 5, 40, 1), kernel("b", 39.7, 60, 2), *deep]
    model = tiny.model(*(call("l", i / 2, (i + 1) / 2, i + 1) for i in range(6)), *works)
    assert ("a@5", "stream order", "b@39.7") not in tiny.dependencies(model, "SEQUENTIAL")


def test_the_later_of_launch_and_stream_binds() -> None:
    rows = [call("l", 0, 2, 1), kernel("a", 3, 50, 1), call("l", 4, 6, 2), kernel("b", 51, 60, 2)]
    assert ("a@3", "stream order", "b@51") in tiny.dependencies(tiny.model(*rows), "SEQUENTIAL", binding=True)


@pytest.mark.parametrize(
    ("name", "row", "mechanism"),
    [
        ("cudaStreamSynchronize", sync("Stream Sync", 5, 30, 2, stream=7), "stream synchronize"),
        ("cudaDeviceSynchronize", sync("Context Sync", 5, 30, 2, stream=-1), "device synchronize"),
        ("cudaStreamSynchronize", None, "stream synchronize"),
        ("hipDeviceSynchronize", None, "device synchronize"),
        ("hipEventSynchronize", None, "event synchronize"),
        ("cudaFree", None, "implicit synchronize"),
        ("hipFree", None, "implicit synchronize"),
    ],
)
def test_a_blocking_call_waits_until_the_awaited_work_ends(
    name: str, row: tiny.Row | None, mechanism: str
) -> None:
    rows = [call("l", 0, 2, 1), kernel("k", 4, 25, 1), call(name, 5, 30, 2), event("op", 30, 40)]
    model = tiny.model(*rows, *([row] if row else []))
    assert tiny.dependencies(model, "SYNCHRONIZATION", binding=True) == {("k@4", mechanism, f"{name}@25")}
    assert tiny.kinds(model)["(waiting for GPU)@5"] == "wait"
    assert tiny.path(model) == ["l@0", "k@4", f"{name}@25", "op@30"]


def test_a_call_waits_for_what_was_enqueued_before_it_not_for_what_ends_before_it() -> None:
    model = tiny.model(
        call("l", 0, 2, 1),
        kernel("mine", 4, 10, 1, stream=7),
        call("l", 2, 4, 2),
        kernel("other", 5, 22, 2, stream=20),
        call("cudaStreamSynchronize", 6, 30, 3),
        sync("Stream Sync", 6, 30, 3, stream=7),
        event("op", 30, 40),
    )
    assert tiny.dependencies(model, "SYNCHRONIZATION") == {
        ("mine@4", "stream synchronize", "cudaStreamSynchronize@10")
    }


def test_an_event_query_blocks_nobody() -> None:
    rows = [call("l", 0, 2, 1), kernel("k", 4, 25, 1), call("cudaEventQuery", 5, 30, 2), event("op", 30, 40)]
    row = sync("Event Sync", 5, 30, 2, stream=-1, wait_on_stream=7, wait_on_record=1)
    assert tiny.dependencies(tiny.model(*rows, row), "SYNCHRONIZATION") == set()


def test_a_copy_to_pageable_memory_holds_its_call() -> None:
    copy = kernel("Memcpy DtoH (Device -> Pageable)", 5, 25, 1, category="gpu_memcpy")
    model = tiny.model(call("cudaMemcpyAsync", 0, 30, 1), copy, event("op", 30, 40))
    assert {m for _, m, _ in tiny.dependencies(model, "SYNCHRONIZATION", binding=True)} == {"blocking copy"}
    pinned = {**copy, "name": "Memcpy DtoH (Device -> Pinned)"}
    assert (
        tiny.dependencies(tiny.model(call("cudaMemcpyAsync", 0, 30, 1), pinned), "SYNCHRONIZATION") == set()
    )


def test_a_stream_waits_for_the_work_before_the_recorded_event() -> None:
    model = tiny.model(
        call("l", 0, 1, 1),
        kernel("copy", 2, 50, 1, stream=24),
        call("cudaEventRecord", 2, 3, 2),
        call("cudaStreamWaitEvent", 3, 4, 3),
        sync("Stream Wait Event", 3, 4, 3, stream=7, wait_on_stream=24, wait_on_record=2),
        call("l", 5, 6, 4, thread=2),
        kernel("compute", 50, 80, 4, stream=7),
    )
    assert tiny.dependencies(model, "SYNCHRONIZATION", binding=True) == {
        ("copy@2", "stream wait event", "compute@50")
    }


def test_a_recorded_wait_holds_although_the_rows_overlap_by_noise() -> None:
    rows = [
        call("cudaMemcpyAsync", 0, 1, 1),
        kernel("copy", 2, 50, 1, stream=24),
        call("cudaEventRecord", 1, 2, 2),
        call("cudaStreamWaitEvent", 3, 4, 3),
        sync("Stream Wait Event", 3, 4, 3, stream=7, wait_on_stream=24, wait_on_record=2),
        call("cudaLaunchKernel", 5, 6, 4),
        kernel("compute", 49.6, 80, 4, stream=7),
    ]
    assert tiny.dependencies(tiny.model(*rows), "SYNCHRONIZATION", binding=True) == {
        ("copy@2", "stream wait event", "compute@49.6")
    }


def test_without_rows_the_streams_of_a_wait_are_those_that_its_thread_launches_on() -> None:
    model = tiny.model(
        call("l", 0, 1, 1),
        kernel("gemm", 2, 40, 1, stream=7),
        call("cudaEventRecord", 2, 3, 2),
        call("cudaStreamWaitEvent", 3, 4, 3),
        call("l", 5, 6, 4),
        kernel("nccl", 41, 60, 4, stream=20),
        call("cudaEventRecord", 7, 8, 5),
        call("cudaStreamWaitEvent", 8, 9, 6),
        call("l", 10, 11, 7, thread=2),
        kernel("adam", 61, 80, 7, stream=7),
    )
    assert tiny.dependencies(model, "SYNCHRONIZATION", binding=True) == {
        ("gemm@2", "stream wait event", "nccl@41"),
        ("nccl@41", "stream wait event", "adam@61"),
    }


def _backward(thread: int, start: float, end: float, number: int) -> tiny.Row:
    return event("node", start, end, thread=thread, sequence_number=number, forward_thread=1)


def _forward(thread: int, start: float, end: float, number: int) -> tiny.Row:
    return event("forward", start, end, thread=thread, sequence_number=number, forward_thread=0)


def test_the_backward_pass_is_handed_to_the_engine_and_joined() -> None:
    model = tiny.model(
        step(1, 0, 100),
        _forward(1, 5, 20, 3),
        _forward(3, 5, 21, 77),
        _backward(2, 30, 60, 3),
        event("optimizer", 70, 90),
    )
    assert tiny.dependencies(model, "CROSS_THREAD", binding=True) == {
        ("ProfilerStep#1@20", "autograd hand-off", "node@30"),
        ("node@30", "autograd join", "ProfilerStep#1@60"),
    }
    assert tiny.kinds(model)["(waiting for another thread)@30"] == "wait"


def test_a_caller_that_works_at_the_end_of_the_pass_did_not_wait_for_it() -> None:
    model = tiny.model(
        step(1, 0, 100), _forward(1, 5, 20, 3), _backward(2, 30, 60, 3), event("AccumulateGrad", 50, 80)
    )
    assert {m for _, m, _ in tiny.dependencies(model, "CROSS_THREAD")} == {"autograd hand-off"}


def test_two_passes_are_two_hand_offs() -> None:
    passes = [(_forward(1, t, t + 10, t), _backward(2, t + 20, t + 40, t)) for t in (0, 100)]
    model = tiny.model(step(1, 0, 200), *(row for rows in passes for row in rows))
    handed = [d for d in tiny.dependencies(model, "CROSS_THREAD") if d[1] == "autograd hand-off"]
    assert sorted(effect for _, _, effect in handed) == ["node@120", "node@20"]


def test_the_gpu_clock_is_moved_where_causality_leaves_a_narrow_interval() -> None:
    model = tiny.model(
        call("l", 10, 12, 1),
        kernel("k", 5, 20, 1),
        call("cudaDeviceSynchronize", 13, 30, 2),
        event("op", 30, 40),
    )
    assert model.clock_offset_ns == 8_182
    assert ("l@10", "launch", "k@13.182") in tiny.dependencies(model, "INVOCATION")


def test_the_path_ends_on_a_lane_that_matters() -> None:
    model = tiny.model(step(1, 0, 50), event("op", 10, 50), event("watchdog", 0, 500, thread=9))
    assert (model.window.start, model.window.end) == (0, 50_000)
    assert tiny.path(model) == ["ProfilerStep#1@0", "op@10"]


def test_gpu_work_without_a_launch_starts_at_the_queue_start() -> None:
    model = tiny.model(event("op", 0, 5), kernel("orphan", 20, 60, None))
    assert ("(unknown)@0", "queue start", "orphan@20") in tiny.dependencies(model, "SEQUENTIAL", binding=True)
    assert tiny.path(model) == ["orphan@20"]


def test_a_step_window_ends_with_the_gpu_work_launched_in_it() -> None:
    model = tiny.model(step(4, 0, 10), call("l", 5, 6, 1), kernel("k", 8, 40, 1), step(5, 10, 60))
    assert model.steps.number.tolist() == [4, 5]
    assert model.steps.window_end.tolist() == [40_000, 60_000]
    assert model.steps.of_event.tolist() == [4, 4, 4, 5]


def test_a_thread_that_waits_goes_on_after_the_other_threads_event_and_handed_it_over() -> None:
    model = tiny.model(
        step(1, 0, 3000),
        event("enqueue", 100, 200),
        event("all_reduce", 210, 1900, thread=2),
        event("optimizer", 1910, 2500),
    )
    assert tiny.dependencies(model, "CROSS_THREAD", binding=True) == {
        ("ProfilerStep#1@200", "hand-over", "all_reduce@210"),
        ("all_reduce@210", "resume", "ProfilerStep#1@1900"),
    }
    assert tiny.path(model) == [
        "ProfilerStep#1@0",
        "enqueue@100",
        "ProfilerStep#1@200",
        "all_reduce@210",
        "ProfilerStep#1@1900",
        "optimizer@1910",
        "ProfilerStep#1@2500",
    ]


@pytest.mark.parametrize(
    "others",
    [
        [event("early", 210, 1500, thread=2)],
        [event("often", 210 + 10 * i, 215 + 10 * i, thread=2) for i in range(169)],
    ],
    ids=["ended long before", "ends events all the time"],
)
def test_an_end_that_explains_nothing_resumes_nobody(others: list[tiny.Row]) -> None:
    rows = [step(1, 0, 3000), event("enqueue", 100, 200), event("optimizer", 1910, 2500)]
    assert tiny.dependencies(tiny.model(*rows, *others), "CROSS_THREAD") == set()


def test_an_operator_waits_for_nobody() -> None:
    rows = [event("aten::mm", 0, 2000), event("all_reduce", 210, 1990, thread=2), event("op", 2000, 2100)]
    assert tiny.dependencies(tiny.model(*rows), "CROSS_THREAD") == set()


def test_work_without_a_launch_is_awaited_by_the_calls_after_its_start_and_dates_no_clock() -> None:
    model = tiny.model(
        event("op", 0, 3),
        kernel("a", 10, 20, None),
        call("cudaDeviceSynchronize", 5, 22, 1),
        kernel("b", 30, 40, None),
        call("cudaDeviceSynchronize", 25, 42, 2),
        event("op", 42, 50),
    )
    assert model.clock_offset_ns == 0
    assert tiny.dependencies(model, "SYNCHRONIZATION", binding=True) <= {
        ("b@30", "device synchronize", "cudaDeviceSynchronize@40")
    }


def _two_devices(*more: tiny.Row) -> Model:
    return tiny.model(
        call("l", 0, 1, 1),
        kernel("mine", 3, 10, 1),
        call("l", 0, 1, 2, thread=2),
        {**kernel("other", 3, 22, 2), "device": 1},
        *more,
        event("op", 30, 40),
    )


@pytest.mark.parametrize("name", ["cudaStreamSynchronize", "cudaDeviceSynchronize"])
@pytest.mark.parametrize("recorded", [True, False])
def test_a_call_waits_for_its_own_device(name: str, recorded: bool) -> None:
    kind, stream = ("Stream Sync", 7) if "Stream" in name else ("Context Sync", -1)
    rows = [sync(kind, 5, 30, 3, stream=stream)] if recorded else []
    model = _two_devices(call(name, 5, 30, 3), *rows)
    assert model.clock_offset_ns == 0
    assert {cause for cause, _, _ in tiny.dependencies(model, "SYNCHRONIZATION")} == {"mine@3"}


def test_work_comes_after_the_last_to_end_not_the_last_to_start() -> None:
    rows = [call("l", 0, 1, i) for i in (1, 2, 3, 4)]
    works = [kernel("a", 2, 100, 1), kernel("b", 10, 20, 2), kernel("c", 30, 40, 3), kernel("d", 101, 120, 4)]
    model = tiny.model(*rows, *works)
    ordered = {d for d in tiny.dependencies(model, "SEQUENTIAL") if d[1] == "stream order"}
    assert ordered == {("a@2", "stream order", "d@101"), ("b@10", "stream order", "c@30")}
    found = model.dependencies
    told = {
        tiny.label(model, found.effect[i]): (bool(found.recorded[i]), float(found.confidence[i]))
        for i in np.flatnonzero(found.mechanism == CODE["stream order"])
    }
    # What ran beside other work shows that the row holds several streams: its order is a guess.
    assert told["d@101"] == (True, 1.0)
    assert not told["c@30"][0]
    assert told["c@30"][1] < 1


def test_a_window_may_end_in_a_wait() -> None:
    rows = [call("l", 0, 2, 1), kernel("empty", 30, 30, 1), call("cudaDeviceSynchronize", 5, 30, 2)]
    assert tiny.path(tiny.model(*rows))[-1] == "(waiting for GPU)@5"


def _turns(of_worker: Callable[[float], list[tiny.Row]], count: int = 4) -> list[tiny.Row]:
    """Passes of 2 ms: the main thread works, is silent while the worker does something, and goes on."""
    passes = [
        [event("forward", at, at + 200), *of_worker(at + 230), event("optimizer", at + 1730, at + 1990)]
        for at in range(0, 2000 * count, 2000)
    ]
    return [row for rows in passes for row in rows]


def _burst(at: float) -> list[tiny.Row]:
    return [event("node", at + 20 * i, at + 20 * i + 15, thread=2) for i in range(74)]


@pytest.mark.parametrize("category", ["user_annotation", "cpu_op"])
def test_bursts_that_fill_the_silence_of_a_thread_were_called_by_it(category: str) -> None:
    whole = event("ProfilerStep#1", 0, 9000, category=category)
    found = tiny.dependencies(tiny.model(whole, *_turns(_burst)), "CROSS_THREAD", binding=True)
    assert len(found) == 8
    assert ("ProfilerStep#1@200", "hand-over", "node@230") in found
    assert ("node@1690", "resume", "ProfilerStep#1@1705") in found


def test_a_busy_third_thread_hides_nobody() -> None:
    noise = [event("tick", 10 * i, 10 * i + 5, thread=3) for i in range(800)]
    model = tiny.model(step(1, 0, 9000), *_turns(_burst), *noise)
    found = {(cause, effect) for cause, _, effect in tiny.dependencies(model, "CROSS_THREAD")}
    assert ("node@1690", "ProfilerStep#1@1705") in found
    assert not any("tick" in cause + effect for cause, effect in found)


def test_a_thread_that_only_polls_explains_no_silence() -> None:
    polls = _turns(
        lambda at: [call("cudaEventQuery", at + 150 * i, at + 150 * i + 5, 7, thread=2) for i in range(10)]
    )
    assert tiny.dependencies(tiny.model(step(1, 0, 9000), *polls), "CROSS_THREAD") == set()


def test_a_thread_that_is_silent_itself_explains_no_silence() -> None:
    woken = _turns(
        lambda at: [event("notify", at, at + 5, thread=2), event("notify", at + 1480, at + 1490, thread=2)]
    )
    assert tiny.dependencies(tiny.model(step(1, 0, 9000), *woken), "CROSS_THREAD") == set()


def test_an_event_sync_row_without_its_record_leaves_the_work_to_be_inferred() -> None:
    rows = [call("l", 0, 2, 1), kernel("k", 4, 25, 1), call("cudaEventSynchronize", 5, 30, 2)]
    row = sync("Event Sync", 5, 30, 2, stream=-1, wait_on_stream=7)
    found = tiny.dependencies(tiny.model(*rows, row, event("op", 30, 40)), "SYNCHRONIZATION", binding=True)
    assert found == {("k@4", "event synchronize", "cudaEventSynchronize@25")}


def test_one_wait_does_not_hand_a_whole_thread_over() -> None:
    ticks = [event("tick", 1000 * i, 1000 * i + 900, thread=2) for i in range(20)]
    model = tiny.model(event("op", 0, 5050), event("op", 14903, 16000), *ticks)
    assert {d for d in tiny.dependencies(model, "CROSS_THREAD") if d[1] == "hand-over"} == set()


@pytest.mark.parametrize("text", ["7.5", "99999999999999999999", "inf", "1e400", "stream 7"])
def test_a_stream_may_have_any_name(text: str) -> None:
    row = {**kernel("k", 2, 9, 1), "tid": text, "stream": None}
    assert tiny.path(tiny.model(call("l", 0, 1, 1), row)) == ["l@0", "k@2"]


def test_a_stream_with_few_gaps_has_the_usual_gap_of_all_streams() -> None:
    rows: list[tiny.Row] = []
    for i in range(30):
        rows += [call("l", i, i + 0.5, i + 1), kernel("k", 100 + 11 * i, 110 + 11 * i, i + 1)]
    first, second = kernel("a", 100, 200, 91, stream=20), kernel("b", 205, 250, 92, stream=20)
    rows += [call("l", 40, 41, 91), first, call("l", 41, 42, 92), second]
    model = tiny.model(*rows)
    found = model.dependencies
    effect = int(np.flatnonzero(model.events.name[model.segments.event] == "b")[-1])
    assert int(model.binding.margin[effect]) > 0
    order = CODE["stream order"]
    assert found.mechanism[model.binding.edge[effect]] == order
    lags = measure_lags(
        model.events, model.launches, order_streams(model.events, model.launches), len(model.lanes.frame)
    )
    assert sorted(set(lags.stream_order.tolist())) == [0, 1000]
