"""What recurs on the critical paths of the steps: events and gaps by name."""

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.path.sums import steps_as_one

RECURRING_COLUMNS = (
    Column("name", "STRING", False, "name of the events, or of the gap"),
    Column("category", "STRING", False, "Kineto category, or `gap`"),
    Column("steps", "INTEGER", False, "number of steps that have it on their path"),
    Column("step_share", "FLOAT", False, "share of all steps, 0..1"),
    Column("mean_ns", "FLOAT", False, "mean time on the path, over all steps, ns"),
    Column("std_ns", "FLOAT", False, "standard deviation of that time over all steps, ns"),
    Column("min_ns", "INTEGER", False, "least time on the path of a step, 0 where a step is without it, ns"),
    Column("max_ns", "INTEGER", False, "most time on the path of a step, ns"),
    Column("mean_share", "FLOAT", False, "mean share of the step, over all steps, 0..1"),
)
"""Columns of `recurring_hotspots`."""


def recurring_hotspots(_: Values, hotspots: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Sum events and gaps by name over all steps of all ranks, largest mean first.

    The rows are those of `step_hotspots` and `steps`. Annotations of steps count as one name, that of their
    marker, although each has its own number.
    """
    step = [hotspots["rank"], hotspots["number"]]
    length = hotspots.groupby(step)["duration_ns"].transform("sum")
    parts = steps_as_one(hotspots, steps).assign(share=hotspots["duration_ns"] / length)
    keys = ["name", "category", "rank", "number"]
    each = parts.groupby(keys, as_index=False)[["duration_ns", "share"]].sum()
    count = max(1, len(hotspots.groupby(step)))
    groups = each.groupby(["name", "category"])
    rows = groups.agg(
        steps=("number", "size"),
        mean_ns=("duration_ns", lambda spent: float(spent.sum()) / count),
        std_ns=("duration_ns", lambda spent: _deviation(spent, count)),
        min_ns=("duration_ns", "min"),
        max_ns=("duration_ns", "max"),
        mean_share=("share", lambda share: float(share.sum()) / count),
    ).reset_index()
    rows["min_ns"] = rows["min_ns"].where(rows["steps"] == count, 0)
    rows["step_share"] = rows["steps"] / count
    rows = rows.sort_values(["mean_ns", "name", "category"], ascending=[False, True, True])
    return rows.reset_index(drop=True)


def _deviation(spent: "pd.Series[int]", count: int) -> float:
    """Return the standard deviation over `count` steps, of which those without a value spent 0."""
    mean = float(spent.sum()) / count
    return float(np.sqrt((((spent - mean) ** 2).sum() + (count - len(spent)) * mean**2) / count))
