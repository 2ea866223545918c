"""What a call does and what it waits for: its own copy, room in the queue, or nothing that the file shows."""

import tiny
from tiny import Row, call, event, kernel

from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.what_if.predictions.what_next import find_what_next


def launches(count: int, *, lasting: float = 4, every: float = 20) -> list[Row]:
    """Launches of short kernels on an idle stream, from 0 µs on, with ids from 1."""
    return [
        row
        for i in range(count)
        for row in (
            call("cudaLaunchKernel", every * i, every * i + lasting, i + 1),
            kernel("short", every * i + lasting + 3, every * i + lasting + 5, i + 1),
        )
    ]


def blocking_copy(at: float, copied: float, correlation: int) -> list[Row]:
    """A copy to pageable memory that waits for its stream and returns 4 µs after its end."""
    return [
        call("cudaMemcpyAsync", at, copied + 2 + 4, correlation),
        kernel("Memcpy DtoH (Device -> Pageable)", copied, copied + 2, correlation, category="gpu_memcpy"),
    ]


def test_a_blocking_copy_works_as_long_as_such_calls_do_and_then_waits_for_its_stream() -> None:
    long = [call("cudaLaunchKernel", 100, 104, 9), kernel("long", 107, 1000, 9)]
    model = tiny.model(*launches(4), *long, *blocking_copy(110, 1001, 10))
    check_model(model)
    kinds = tiny.kinds(model)
    assert kinds["cudaMemcpyAsync@110"] == "work"
    assert kinds["(waiting for GPU)@114"] == "wait"
    gains = {str(row["name"]): row["gain_ns"] for row in find_what_next(model)}
    assert gains["long"] == 884_000


def test_a_copy_call_whose_stream_was_idle_works_until_it_launches() -> None:
    # From the start of a call to its work it takes 7 µs at least.
    model = tiny.model(*launches(4), *blocking_copy(110, 160, 10))
    assert tiny.kinds(model)["cudaMemcpyAsync@110"] == "work"
    assert "(waiting for GPU)@153" in tiny.kinds(model)


def test_what_every_return_takes_is_waiting_for_the_news() -> None:
    copies = [row for i in range(12) for row in blocking_copy(200 + 100 * i, 230 + 100 * i, 20 + i)]
    model = tiny.model(*launches(4), *copies)
    # Each call returns 4 µs after its copy's end: two thirds of that are the wake-up, the rest its own work.
    assert "cudaMemcpyAsync@234.666" in tiny.kinds(model)


def test_work_that_ends_a_little_after_the_call_that_waited_for_it_ended_with_it() -> None:
    rows = [call("l", 0, 4, 1), kernel("k", 7, 506, 1), call("cudaDeviceSynchronize", 10, 500, 2)]
    model = tiny.model(*rows, event("op", 505, 600))
    assert model.clock_offset_ns != 0 or "(waiting for GPU)@10" in tiny.kinds(model)


def test_work_that_starts_after_a_call_returned_did_not_hold_it() -> None:
    rows = [call("l", 0, 4, 1), kernel("k", 505, 508, 1), call("cudaStreamSynchronize", 10, 500, 2)]
    model = tiny.model(*rows, kernel("other", 0, 3, None, stream=9), event("op", 505, 600))
    check_model(model)
    assert not [cause for cause, _, _ in tiny.dependencies(model, "SYNCHRONIZATION") if cause == "k@505"]


def queue_of(depth: int) -> list[Row]:
    """40 launches of 50 µs kernels; each waits until fewer than `depth` are not done, then works for 4 µs."""
    rows: list[Row] = []
    ends: list[float] = []
    at = 0.0
    for i in range(40):
        room = ends[i - depth] if i >= depth else at
        until = max(at, room) + 4
        begin = max(until + 3, ends[-1] + 1 if ends else 0)
        ends.append(begin + 50)
        rows += [call("cudaLaunchKernel", at, until, i + 1), kernel(f"k{i}", begin, begin + 50, i + 1)]
        at = until + 2
    return rows


def test_a_launch_waits_for_room_where_a_full_queue_repeats() -> None:
    model = tiny.model(*queue_of(10))
    check_model(model)
    full = {row for row in tiny.dependencies(model, "SYNCHRONIZATION") if row[1] == "queue full"}
    causes = {cause.split("@")[0] for cause, _, _ in full}
    assert causes == {f"k{i}" for i in range(30) if i}
    assert all(float(effect.split("@")[1]) == float(cause.split("@")[1]) + 50 for cause, _, effect in full)


def test_long_launches_without_a_common_depth_wait_for_nothing() -> None:
    rows = queue_of(10)[:18] + [
        row
        for i in range(9)
        for row in (
            call("cudaLaunchKernel", 2000 + 300 * i, 2060 + 300 * i, 100 + i),
            kernel("k", 2063 + 300 * i, 2070 + 300 * i, 100 + i),
        )
    ]
    model = tiny.model(*rows)
    assert not {row for row in tiny.dependencies(model, "SYNCHRONIZATION") if row[1] == "queue full"}


def long_launch(*, busy: bool) -> tiny.Model:
    """A launch of 900 µs among short ones, beside a kernel on another stream or none."""
    beside = [call("cudaLaunchKernel", 100, 104, 9), kernel("beside", 107, 1500, 9, stream=9)] if busy else []
    slow = [call("cudaLaunchKernel", 200, 1100, 10), kernel("late", 1103, 1110, 10)]
    return tiny.model(*launches(5), *beside, *slow)


def test_a_long_call_is_unknown_where_the_gpu_was_busy_and_nothing_ended() -> None:
    model = long_launch(busy=True)
    check_model(model)
    assert tiny.kinds(model)["(unknown)@204"] == "gap"


def test_a_long_call_works_where_the_gpu_idles() -> None:
    kinds = tiny.kinds(long_launch(busy=False))
    assert kinds["cudaLaunchKernel@200"] == "work"
    assert not [name for name in kinds if name.startswith("(unknown)")]
