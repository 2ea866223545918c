"""The windows of the steps of each rank inside a window that a question is about."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from tracegraph.queries.shapes.derived_query import Values


def step_windows(values: Values, steps: pd.DataFrame, ranks: Iterable[int]) -> pd.DataFrame:
    """Return rank, step, start_ns and end_ns of each step whose middle lies in the window, by rank and start.

    The middle: where the window is that of one rank's step, the same step of other ranks begins earlier or
    ends later. A rank without such a step has the whole window, and no number.
    """
    start, end = int(values["start_ns"]), int(values["end_ns"])
    middle = (steps["start_ns"] + steps["window_end_ns"]) // 2
    found = steps[(middle >= start) & (middle < end) & (steps["window_end_ns"] > steps["start_ns"])]
    rows: list[tuple[int, Any, int, int]] = []
    for rank in sorted(set(ranks)):
        own = found[found["rank"].eq(rank)].sort_values(["start_ns", "number"])
        columns = (own[name].tolist() for name in ("number", "start_ns", "window_end_ns"))
        listed = [(rank, *row) for row in zip(*columns, strict=True)]
        rows += listed or [(rank, None, start, end)]
    frame = pd.DataFrame(rows, columns=["rank", "step", "start_ns", "end_ns"])
    return frame.astype({"rank": "int64", "step": "Int64", "start_ns": "int64", "end_ns": "int64"})
