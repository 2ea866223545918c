"""Events that last far longer than others of their name: looked for only where a lane has one that long."""

from collections.abc import Sequence

import pandas as pd

from tracegraph.queries.module import Column, Parameter
from tracegraph.queries.shapes.derived_query import Values

OUTLIER_PARAMETERS = (
    Parameter(
        "times",
        "FLOAT",
        "how many times as long as the median of the others it is at least, default 20",
        default=20.0,
    ),
    Parameter("least_count", "INTEGER", "least number of events of the name, default 5", default=5),
)
OUTLIER_COLUMNS = (
    Column("name", "STRING", False, "name of the events"),
    Column("category", "STRING", False, "Kineto category"),
    Column("rank", "INTEGER", False, "rank of the longest"),
    Column("source_index", "INTEGER", False, "the longest: 0-based position in the file's traceEvents list"),
    Column("duration_ns", "INTEGER", False, "how long it lasts, ns"),
    Column("median_ns", "INTEGER", False, "median of the others, ns"),
    Column("count", "INTEGER", False, "number of events of the name"),
    Column("long_count", "INTEGER", False, "how many of them last so, and half as long as the longest"),
)
"""Columns of `outliers`."""


def may_stand_out(values: Values, lanes: pd.DataFrame) -> bool:
    """Tell from `lanes` whether any event takes that much of the window itself: in few runs one does."""
    least_ns = values["part"] * (values["end_ns"] - values["start_ns"])
    return bool((lanes["longest_ns"] >= least_ns).fillna(False).any())


def outliers(values: Values, _: pd.DataFrame, named: pd.DataFrame) -> pd.DataFrame:
    """Return rows by duration, longest first, then name and category, from `long_names`."""
    rows = [
        _row(name, category, sorted(events, key=lambda event: (-event[0], *event[1:])), values)
        for name, category, events in zip(named["name"], named["category"], named["events"], strict=True)
        if len(events) >= values["least_count"]
    ]
    found = pd.DataFrame(rows, columns=[column.name for column in OUTLIER_COLUMNS])
    far: pd.DataFrame = found[found["duration_ns"] >= values["times"] * found["median_ns"]]
    order = ["duration_ns", "name", "category"]
    return far.sort_values(order, ascending=[False, True, True], ignore_index=True)


def _row(name: str, category: str, events: Sequence[Sequence[int]], values: Values) -> tuple[object, ...]:
    """Make the row of a name, whose events are sorted, the longest first."""
    longest_ns, rank, source_index = events[0]
    median_ns = events[len(events) // 2][0]
    long = [ns for ns, *_ in events if ns >= values["times"] * median_ns and 2 * ns >= longest_ns]
    return name, category, rank, source_index, longest_ns, median_ns, len(events), len(long)
