"""critical_path.csv, hotspots.csv, gaps.csv, near_critical.csv and steps.csv."""

from collections.abc import Sequence

import pandas as pd

from tracegraph.workbench.names import readable
from tracegraph.workbench.report.findings import HOTSPOT_COLUMNS, PATH_COLUMNS
from tracegraph.workbench.text import csv_safe

_LABEL = "label"
"""The last column of rows that have a `name`: the same, to be read."""
_TRACE_TEXTS = ("name", "category", "lane_name", "hotspot", _LABEL)
"""Columns whose texts come from the trace."""


def path_csv(path: pd.DataFrame) -> str:
    """Return the rows of the path, in time order, as CSV with PATH_COLUMNS first."""
    return _csv(path, PATH_COLUMNS)


def hotspots_csv(hotspots: pd.DataFrame) -> str:
    """Return the listed hotspots or gaps as CSV with HOTSPOT_COLUMNS first."""
    return _csv(hotspots, HOTSPOT_COLUMNS)


def rows_csv(frame: pd.DataFrame) -> str:
    """Return what is nearly critical, or the steps, as CSV."""
    return _csv(frame, ())


def _csv(frame: pd.DataFrame, first: Sequence[str]) -> str:
    """Return the frame as CSV; names and categories come from the trace and must not run as formulas."""
    if "name" in frame.columns:
        frame = frame.assign(**{_LABEL: _labels(frame["name"])})
    columns = [*first, *(name for name in frame.columns if name not in first)]
    texts = {name: _safe(frame[name]) for name in _TRACE_TEXTS if name in frame.columns}
    text: str = frame[columns].assign(**texts).to_csv(index=False, lineterminator="\n")
    return text


def _labels(names: "pd.Series[str]") -> "pd.Series[str]":
    codes, values = pd.factorize(names)
    labels = pd.Series([*readable(map(str, values)).values(), None], dtype=object)
    return labels.take(codes).set_axis(names.index)


def _safe(column: "pd.Series[str]") -> "pd.Series[str]":
    codes, values = pd.factorize(column)
    safe = pd.Series([*(csv_safe(str(value)) for value in values), None], dtype=object)
    return safe.take(codes).set_axis(column.index)
