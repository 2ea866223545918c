"""Sums of what a path is made of: the largest, by a column, and those of all steps under one name."""

from typing import Any

import pandas as pd

from tracegraph.vocabulary.step_names import counted_as


def with_steps_merged(sums: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Merge the annotations of all steps in `hotspots` under the name of their marker, largest first.

    `sums` are all rows of `hotspots`, `steps` the rows of `steps`.
    """
    counted = _counted_as(sums["name"], steps)
    if len(counted) < 2:
        return sums
    keys = ["name", "category"]
    groups = _renamed(sums, counted).groupby(keys, as_index=False)
    added = ["duration_ns", "proportion", "prop_in_total", "count", "accumulated_ns"]
    merged = groups.agg({**dict.fromkeys(added, "sum"), "accumulated_place": "min"})
    rows = merged.sort_values(["duration_ns", *keys], ascending=[False, True, True], ignore_index=True)
    return rows[list(sums.columns)].astype(dict.fromkeys(keys, object))


def steps_as_one(rows: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Give the annotations of all steps one name, that of their marker; `steps` are the rows of `steps`."""
    return _renamed(rows, _counted_as(rows["name"], steps))


def _renamed(rows: pd.DataFrame, counted: dict[str, str]) -> pd.DataFrame:
    return rows.assign(name=rows["name"].map(lambda name: counted.get(name, name)))


def _counted_as(names: "pd.Series[Any]", steps: pd.DataFrame) -> dict[str, str]:
    """Map each name that marks a step to the one name under which all steps are counted."""
    return counted_as(names.unique(), zip(steps["name"], steps["marker"], strict=True))


def largest(sums: pd.DataFrame, limit: int) -> pd.DataFrame:
    """Return the first rows of `hotspots` or `path_gaps`, with their `proportion` of the listed ones."""
    rows = sums.head(limit)
    return rows.assign(proportion=rows["duration_ns"] / max(1, int(rows["duration_ns"].sum())))


def sum_by(rows: pd.DataFrame, column: str) -> dict[str, int]:
    """Sum the time of the rows of a path for each value of a column, in ns, longest first, then by value."""
    lengths = pd.DataFrame({"key": rows[column], "length": rows["end_ns"] - rows["start_ns"]})
    return _ordered(lengths.groupby("key", observed=True)["length"].sum())


def _ordered(sums: "pd.Series[int]") -> dict[str, int]:
    found = {str(key): int(value) for key, value in sums.items()}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
