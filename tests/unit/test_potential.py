"""The largest names and waits of the path, and what is gained without each."""

from random import Random
from typing import Any

import numpy as np
import tiny
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_traces import lasts, rows
from tiny import call, event, kernel

from tracegraph.ingest.what_if.graph.graph import graph_of
from tracegraph.ingest.what_if.graph.subtrees import find_spots, held_by
from tracegraph.ingest.what_if.predictions.potential import find_potential


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


def test_a_name_goes_off_the_path_too() -> None:
    """Two operators have a stream each, with the same kernel at its beginning."""
    rows = [
        event("left", 0, 5),
        call("launch", 0, 2, 1),
        call("launch", 2, 4, 2),
        event("right", 5, 10),
        call("launch", 5, 7, 3),
        call("launch", 7, 9, 4),
        kernel("gather", 10, 60, 1, stream=7),
        kernel("gemm", 60, 90, 2, stream=7),
        kernel("gather", 10, 58, 3, stream=8),
        kernel("gemm", 58, 86, 4, stream=8),
    ]
    gains = {row["name"]: row["gain_ns"] for row in find_potential(tiny.model(*rows))}
    assert gains["gather"] == 50_000


def test_a_name_that_every_process_has_comes_before_the_hash_of_a_graph() -> None:
    graph = "## Call CompiledFxGraph f5w7lf5mgif3wsod3kkxcc3iksbyxa2r2dtn3acceoetxmgvhrbg ##"
    rows = table(
        event("Torch-Compiled Region: 0/0", 0, 50),
        event(graph, 1, 49, category="user_annotation"),
        event("optimizer", 50, 100, category="user_annotation"),
    )
    assert {name for name, *_ in rows} == {"Torch-Compiled Region: 0/0", "optimizer"}


@settings(derandomize=True)
@given(rows(), st.randoms(use_true_random=False))
def test_spots_are_held_as_their_segments(events: list[tiny.Row], random: Random) -> None:
    assume(any(lasts(row) for row in events))
    graph = graph_of(tiny.model(*events))
    chosen = np.array([random.random() < 0.5 for _ in range(len(graph.frames))], dtype=bool)
    spots = find_spots(graph)
    held = spots.held_by(graph.frames, chosen)[spots.of_segment]
    assert held.tolist() == (held_by(graph, chosen) >= 0).tolist()
