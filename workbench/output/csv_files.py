"""Writes the CSV files of a report, whose rows also have readable names."""

from collections.abc import Sequence

import pandas as pd

from tracegraph.workbench.findings.findings import PATH_COLUMNS
from tracegraph.workbench.sections.shown_names import with_labels
from tracegraph.workbench.text.csv_rows import frame_csv


def path_csv(path: pd.DataFrame) -> str:
    """Return the rows of the path, in time order, as CSV with PATH_COLUMNS first."""
    return _with_labels(path, PATH_COLUMNS)


def rows_csv(frame: pd.DataFrame) -> str:
    """Return the rows of a section as CSV."""
    return _with_labels(frame, ())


def _with_labels(frame: pd.DataFrame, first: Sequence[str]) -> str:
    frame = with_labels(frame)
    return frame_csv(frame[[*first, *(name for name in frame.columns if name not in first)]])
