"""Rows of a section as CSV."""

from collections.abc import Sequence

import pandas as pd
from pandas.api.types import is_numeric_dtype

from tracegraph.workbench.report.findings import PATH_COLUMNS
from tracegraph.workbench.sections.shown_names import with_labels
from tracegraph.workbench.text import csv_safe


def path_csv(path: pd.DataFrame) -> str:
    """Return the rows of the path, in time order, as CSV with PATH_COLUMNS first."""
    return _csv(path, PATH_COLUMNS)


def rows_csv(frame: pd.DataFrame) -> str:
    """Return the rows of a section as CSV."""
    return _csv(frame, ())


def _csv(frame: pd.DataFrame, first: Sequence[str]) -> str:
    """Return the frame as CSV; names and categories come from the trace and must not run as formulas."""
    frame = with_labels(frame)
    columns = [*first, *(name for name in frame.columns if name not in first)]
    texts = {name: _safe(frame[name]) for name in columns if not is_numeric_dtype(frame[name].dtype)}
    text: str = frame[columns].assign(**texts).to_csv(index=False, lineterminator="\n")
    return text


def _safe(column: "pd.Series[str]") -> "pd.Series[str]":
    codes, values = pd.factorize(column)
    safe = pd.Series([*(csv_safe(str(value)) for value in values), None], dtype=object)
    return safe.take(codes).set_axis(column.index)
