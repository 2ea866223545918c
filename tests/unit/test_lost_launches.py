"""GPU work whose launching call has no row: its place in the queue, and where the call must have been."""

import pytest
import tiny
from tiny import Row, call, event, kernel

from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.vocabulary.mechanisms import CODE


def numbered_calls(start: float, first_id: int, *, count: int = 12) -> list[Row]:
    """Calls of 1 µs that launch nothing, one after the other, with growing ids."""
    return [call("cudaEventQuery", start + i, start + i + 1, first_id + i) for i in range(count)]


def lost_call(*, id_of_lost: int = 23) -> list[Row]:
    """An operator in whose middle the call with id 23 has no row, between calls with the ids 22 and 24."""
    return [
        *numbered_calls(0, 1),
        event("before", 20, 29),
        call("cudaMemsetAsync", 22, 24, 22),
        event("silent", 30, 40),
        event("after", 50, 60),
        call("cudaMemsetAsync", 52, 54, 24),
        kernel("first", 25, 27, 22),
        kernel("lost", 41, 80, id_of_lost),
        kernel("last", 81, 90, 24),
        call("cudaDeviceSynchronize", 60, 95, 25),
    ]


def test_the_lost_call_was_in_the_silent_operator_between_its_neighbours() -> None:
    model = tiny.model(*lost_call())
    check_model(model)
    found = tiny.dependencies(model, "INVOCATION", binding=True)
    assert {(cause.partition("@")[0], effect) for cause, _, effect in found} == {
        ("cudaMemsetAsync", "first@25"),
        ("silent", "lost@41"),
    }
    launches = model.dependencies.mechanism == CODE["launch"]
    assert model.dependencies.confidence[launches & ~model.dependencies.recorded].tolist() == pytest.approx(
        [0.7], abs=0.01
    )


def test_ids_that_do_not_grow_with_time_tell_nothing() -> None:
    rows = [*lost_call(), *numbered_calls(96, 10)]
    assert {effect for _, _, effect in tiny.dependencies(tiny.model(*rows), "INVOCATION")} == {
        "first@25",
        "last@81",
    }


def test_work_without_a_call_stands_in_the_queue_where_its_id_stands() -> None:
    rows = [
        *numbered_calls(0, 1),
        call("cudaLaunchKernel", 13, 15, 13),
        call("cudaStreamSynchronize", 20, 90, 20),
        kernel("known", 16, 40, 13),
        kernel("lost", 40, 88, 15),
    ]
    found = tiny.dependencies(tiny.model(*rows), "SYNCHRONIZATION")
    assert {cause for cause, mechanism, _ in found if mechanism == "stream synchronize"} == {"lost@40"}


@pytest.mark.parametrize("pause", [1, 100])
def test_work_enqueued_before_the_recording_is_awaited_and_has_no_launch(pause: int) -> None:
    rows = [
        *numbered_calls(0, 101),
        kernel("queued", 1, 40, 7),
        kernel("awaited", 40 + pause, 88 + pause, 8),
        call("cudaDeviceSynchronize", 20, 90 + pause, 120),
    ]
    model = tiny.model(*rows)
    assert tiny.dependencies(model, "INVOCATION") == set()
    found = tiny.dependencies(model, "SYNCHRONIZATION")
    assert {cause for cause, _, _ in found} == {f"awaited@{40 + pause}"}
