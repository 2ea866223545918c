"""critical_path.csv, hotspots.csv and gaps.csv."""

from collections.abc import Sequence

import pandas as pd

from tracegraph.cli.findings import HOTSPOT_COLUMNS, PATH_COLUMNS
from tracegraph.cli.reporters.text import csv_safe


def path_csv(path: pd.DataFrame) -> str:
    """Return the rows of the path, in time order, as CSV with PATH_COLUMNS first."""
    return _csv(path, PATH_COLUMNS)


def hotspots_csv(hotspots: pd.DataFrame) -> str:
    """Return the listed hotspots or gaps as CSV with HOTSPOT_COLUMNS first."""
    return _csv(hotspots, HOTSPOT_COLUMNS)


def _csv(frame: pd.DataFrame, first: Sequence[str]) -> str:
    """Return the frame as CSV; names and categories come from the trace and must not run as formulas."""
    columns = [*first, *(name for name in frame.columns if name not in first)]
    safe = frame[columns].assign(name=_safe(frame["name"]), category=_safe(frame["category"]))
    text: str = safe.to_csv(index=False, lineterminator="\n")
    return text


def _safe(column: "pd.Series[str]") -> "pd.Series[str]":
    codes, values = pd.factorize(column)
    return (
        pd.Series([csv_safe(str(value)) for value in values], dtype=object).take(codes).set_axis(column.index)
    )
