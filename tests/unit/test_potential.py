"""The largest names and waits of the path, and what is gained without each."""

from typing import Any

import tiny
from tiny import call, event, kernel

from tracegraph.ingest.what_if.potential import find_potential


def table(*rows: tiny.Row) -> list[tuple[Any, ...]]:
    """Name, time of the path in it, gain and gain of half, µs, and the name that holds it."""
    found = find_potential(tiny.model(*rows))
    return [
        (row["name"], *(row[key] / 1000 for key in ("path_ns", "gain_ns", "halved_ns")), row["inside"])  # type: ignore[operator]
        for row in found
    ]


def test_work_is_named_as_the_user_named_it() -> None:
    def frame(name: str, start: float, end: float) -> tiny.Row:
        return event(name, start, end, category="python_function")

    assert table(
        frame("train.py(1): <module>", 0, 100),
        event("load", 0, 60, category="user_annotation"),
        frame("torch/utils/data.py(3): __next__", 1, 60),
        frame("<built-in method decode of type object at 0x7f>", 2, 40),
        frame("train.py(9): forward", 60, 95),
        event("aten::mm", 61, 95),
    ) == [
        ("load", 60, 60, 30, None),
        ("<built-in method decode of type object at 0x7f>", 38, 38, 19, "load"),
        ("train.py(9): forward", 35, 35, 17.5, None),
    ]


def test_gpu_work_counts_for_what_launched_it_not_for_the_call() -> None:
    # Without the operator the launch latency of 2 is left, without the kernel the thread's 60.
    assert table(
        event("prepare", 0, 40),
        event("aten::mm", 40, 60),
        call("cudaLaunchKernel", 45, 50, 1),
        kernel("gemm", 52, 130, 1),
    ) == [
        ("aten::mm", 90, 88, 44, None),
        ("gemm", 80, 70, 39, "aten::mm"),
        ("prepare", 40, 40, 20, None),
    ]


def test_what_holds_nearly_all_is_no_part() -> None:
    assert table(event("everything", 0, 100), event("half", 10, 60)) == [("half", 50, 50, 25, None)]
