"""What makes a rank late, from tables of a few rows."""

import pandas as pd

from tracegraph.queries.shapes.lateness import late_causes

FRAME = ("frame", "parent", "depth", "rank", "name", "category", "duration_ns", "lag")
FRAMES = pd.DataFrame(
    [
        (0, None, 0, 0, "main", "thread", 0, None),
        (1, 0, 1, 0, "CPU turn", "gap", 100, None),
        (2, 0, 1, 0, "unknown", "gap", 50, None),
        (3, 0, 1, 0, "copy", "gpu_memcpy", 20, "launch latency"),
        (4, 0, 1, 0, "load at 0x1", "cpu_op", 60, None),
    ],
    columns=FRAME,
)
"""The path, all of it on rank 0."""
WAITS = pd.DataFrame({"rank": [0, 1, 2], "caused_ns": [90, 0, 0], "in_short": False})
WORK = pd.DataFrame(
    [(0, "load at 0x1", "cpu_op", False, 70), (1, "load at 0x2", "cpu_op", False, 30)],
    columns=["rank", "name", "category", "is_collective", "duration_ns"],
)
GAPS = pd.DataFrame(
    [
        (0, "CPU turn", 100), (1, "CPU turn", 300), (2, "CPU turn", 130),
        (0, "unknown", 80), (1, "unknown", 45),
        (0, "launch latency", 30),
    ],
    columns=["rank", "name", "duration_ns"],
)  # fmt: skip
STEPS = pd.DataFrame({"marker": []})


def test_a_rank_is_late_by_what_the_middle_rank_has_less_of_gaps_too() -> None:
    """Of a gap that others have more of it is not late, nor of more than is on the path."""
    rows = late_causes({}, WAITS, WORK, GAPS, FRAMES, STEPS)
    told = rows[["name", "duration_ns", "middle_ns", "on_path_ns", "late_ns"]]
    assert told.to_numpy().tolist() == [
        ["load", 70, 30, 60, 40],
        ["unknown", 80, 45, 50, 35],
        ["launch latency", 30, 0, 20, 20],
    ]


def test_a_rank_that_nobody_waited_for_is_not_late() -> None:
    assert late_causes({}, WAITS.assign(caused_ns=0), WORK, GAPS, FRAMES, STEPS).empty


def test_ranks_in_short_are_neither_compared_nor_late() -> None:
    """Without rank 2 the middle one is the one with less; rank 0, if it is in short, has no cause."""
    waits = pd.DataFrame({"rank": [0, 1, 2], "caused_ns": [90, 0, 0], "in_short": [False, False, True]})
    rows = late_causes({}, waits, WORK, GAPS, FRAMES, STEPS)
    assert dict(zip(rows["name"], rows["middle_ns"], strict=True))["unknown"] == 45
    assert late_causes({}, waits.assign(in_short=[True, False, False]), WORK, GAPS, FRAMES, STEPS).empty
