"""GPU work without a correlation id: joined by External id where only one call can be meant."""

import pytest
import tiny
from tiny import Row, call, event, kernel


def of(number: int, row: Row) -> Row:
    return {**row, "correlation": None, "external_id": number}


def launch(number: int, start: float, *, name: str = "hipLaunchKernel", thread: int = 1) -> Row:
    return of(number, call(name, start, start + 2, 1, thread=thread))


def work(number: int, start: float, *, stream: int = 7, **more: object) -> Row:
    return of(number, kernel("k", start, start + 5, None, stream=stream, **more))


def launches(*rows: Row) -> list[int]:
    return [int(call) for call in tiny.model(*rows).launches.call]


def test_the_one_call_of_an_id_launched_its_work() -> None:
    sync = launch(1, 30, name="hipDeviceSynchronize")
    assert launches(launch(1, 0), launch(2, 4), work(1, 10), work(2, 20), sync) == [-1, -1, 0, 1, -1]


def test_several_calls_of_an_id_launched_work_of_one_stream_in_their_order() -> None:
    rows = [launch(1, 0), launch(1, 4), work(1, 10), work(1, 20)]
    assert launches(*rows) == [-1, -1, 0, 1]


@pytest.mark.parametrize(
    "rows",
    [
        # on two streams the order tells nothing
        [launch(1, 0), launch(1, 4), work(1, 10), work(1, 20, stream=8)],
        # one more than there is work
        [launch(1, 0), launch(1, 4), launch(1, 7), work(1, 10), work(1, 20)],
        # of two processes
        [launch(1, 0), {**launch(1, 4), "pid": "2"}, work(1, 10), work(1, 20)],
        # long before its call
        [launch(1, 500), work(1, 10)],
        # no id of an operator
        [launch(0, 0), work(0, 10)],
    ],
)
def test_what_may_mean_several_calls_joins_nothing(rows: list[Row]) -> None:
    assert set(launches(*rows)) == {-1}


def test_one_call_may_have_launched_a_graph() -> None:
    assert launches(launch(1, 0, name="hipGraphLaunch"), work(1, 10), work(1, 20, stream=8)) == [-1, 0, 0]


def test_without_calls_the_operator_launched_it() -> None:
    assert launches(of(1, event("aten::mm", 0, 5)), of(2, event("aten::add", 6, 9)), work(2, 10)) == [
        -1,
        -1,
        1,
    ]


def test_a_correlation_id_is_believed_first() -> None:
    rows = [{**call("hipLaunchKernel", 0, 2, 5), "external_id": 1}, launch(2, 4)]
    assert launches(*rows, {**kernel("k", 10, 15, 5), "external_id": 2})[2] == 0
