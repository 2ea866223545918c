"""Waits between streams that no row tells of."""

import tiny
from tiny import Model, Row, call, kernel

WAIT = "stream wait event"


def waits(model: Model) -> set[tuple[str, str]]:
    found = tiny.dependencies(model, "SYNCHRONIZATION")
    return {(cause, effect) for cause, mechanism, effect in found if mechanism == WAIT}


def confidences(model: Model) -> list[float]:
    found = model.dependencies
    chosen = [i for i in range(len(found)) if tiny.MECHANISMS[found.mechanism[i]].name == WAIT]
    return [float(found.confidence[i]) for i in chosen]


def collective(at: float, number: int, *, gap: float = 10) -> list[Row]:
    """Work on streams 7 and 24, and a collective that starts `gap` µs after that on 7 has ended."""
    return [
        call("l", at, at + 2, number),
        kernel("gemm", at + 5, at + 105, number),
        call("l", at + 3, at + 5, number + 1),
        kernel("copy", at + 8, at + 60, number + 1, stream=24),
        call("hipStreamWaitEvent", at + 6, at + 7, number + 2),
        call("l", at + 8, at + 10, number + 3),
        kernel("nccl", at + 105 + gap, at + 130, number + 3, stream=20),
    ]


def test_the_stream_awaited_is_the_one_whose_end_is_followed_again_and_again() -> None:
    model = tiny.model(*(row for i in range(6) for row in collective(300 * i, 4 * i + 1)))
    assert waits(model) == {(f"gemm@{300 * i + 5}", f"nccl@{300 * i + 115}") for i in range(6)}
    assert min(confidences(model)) > 0.9


def test_a_call_whose_next_work_runs_beside_the_other_streams_holds_nothing() -> None:
    rows = [
        row
        for i in range(6)
        for row in (
            call("l", 300 * i, 300 * i + 2, 10 * i + 1),
            kernel("nccl", 300 * i + 5, 300 * i + 200, 10 * i + 1, stream=20),
            call("cudaStreamWaitEvent", 300 * i + 3, 300 * i + 4, 10 * i + 2),
            call("l", 300 * i + 5, 300 * i + 7, 10 * i + 3),
            kernel("gemm", 300 * i + 10, 300 * i + (20 if i else 290), 10 * i + 3),
        )
    ]
    # A last one whose order is possible: there, too, the call is the library's own.
    late = [
        call("l", 1800, 1802, 91),
        kernel("nccl", 1805, 1815, 91, stream=20),
        call("cudaStreamWaitEvent", 1803, 1804, 92),
        call("l", 1900, 1902, 93),
        kernel("gemm", 1905, 1920, 93),
    ]
    assert waits(tiny.model(*rows, *late)) == set()


def test_a_wait_that_was_over_before_is_an_edge_all_the_same() -> None:
    often = [row for i in range(6) for row in collective(300 * i, 4 * i + 1)]
    rows = [*collective(1800, 25)[:-2], call("l", 2000, 2002, 28), kernel("nccl", 2005, 2020, 28, stream=20)]
    model = tiny.model(*often, *rows)
    assert ("gemm@1805", "nccl@2005") in waits(model)
    assert ("l@2000", "launch", "nccl@2005") in tiny.dependencies(model, "INVOCATION", binding=True)
