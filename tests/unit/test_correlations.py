"""Correlation ids that several calls carry: of processes, used again, or on rows that are no calls."""

import tracemalloc

import tiny
from tiny import Row, call, event, kernel, sync

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.launches.correlations import tell_calls_apart


def of_process(number: int, row: Row) -> Row:
    return {**row, "pid": str(number), "tid": str(10 * number)}


def launches(*rows: Row) -> list[int]:
    return [int(i) for i in tiny.model(*rows).launches.call]


def test_an_id_of_two_processes_belongs_to_the_one_that_owns_the_device() -> None:
    calls = [of_process(p, call("l", 20 * i + p, 20 * i + p + 2, i)) for p in (1, 2) for i in range(1, 6)]
    alone = of_process(1, call("l", 200, 202, 6))
    works = [kernel("k", 20 * i + 5, 20 * i + 7, i) for i in range(1, 6)]
    found = launches(*calls, alone, *works, kernel("k", 205, 207, 6))
    assert found[11:] == [0, 1, 2, 3, 4, 10]


def test_without_ids_of_its_own_a_device_belongs_to_the_calls_just_before_its_work() -> None:
    early = [of_process(1, call("l", 20 * i, 20 * i + 2, i)) for i in range(1, 6)]
    late = [of_process(2, call("l", 20 * i + 300, 20 * i + 302, i)) for i in range(1, 6)]
    works = [kernel("k", 20 * i + 305, 20 * i + 307, i) for i in range(1, 6)]
    assert launches(*early, *late, *works)[10:] == [5, 6, 7, 8, 9]


def test_ids_that_are_used_again_follow_the_order_of_the_queue() -> None:
    """60 launches with three ids are enqueued long before their work runs."""
    calls = [call("l", 4 * i, 4 * i + 2, i % 30 + 1) for i in range(90)]
    works = [kernel("k", 6 + 50 * i, 50 + 50 * i, i % 30 + 1) for i in range(90)]
    assert launches(*calls, *works)[90:] == list(range(90))


def test_one_id_for_all_calls_takes_no_quadratic_time_and_follows_the_order() -> None:
    """Every pair of these would be 25 million."""
    count = 5000
    calls = [call("l", 10 * i, 10 * i + 4, 1) for i in range(count)]
    works = [kernel("k", 10 * i + 7, 10 * i + 9, 1) for i in range(count)]
    events, lanes = read_events(tiny.trace(*calls, *works))
    tracemalloc.start()
    told = tell_calls_apart(events, lanes.process).correlation
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told[:count].tolist() == told[count:].tolist()
    assert peak < 100_000_000


def test_a_row_that_is_no_call_does_not_take_the_id_of_one() -> None:
    overhead = event("Command Buffer Full", 0, 30, category="overhead", correlation=1)
    assert launches(overhead, call("l", 10, 12, 1), kernel("k", 20, 25, 1))[2] == 1


def test_sync_rows_follow_their_calls_when_ids_are_used_again() -> None:
    rows = [call("l", 0, 2, 1), kernel("k", 4, 25, 1), call("cudaStreamSynchronize", 5, 30, 2)]
    again = [call("l", 40, 42, 1), kernel("o", 44, 65, 1), call("cudaStreamSynchronize", 45, 70, 2)]
    waits = [sync("Stream Sync", 5, 30, 2, stream=7), sync("Stream Sync", 45, 70, 2, stream=7)]
    found = tiny.dependencies(
        tiny.model(*rows, *again, *waits, event("op", 70, 80)), "SYNCHRONIZATION", binding=True
    )
    assert {cause for cause, _, _ in found} == {"k@4", "o@44"}
