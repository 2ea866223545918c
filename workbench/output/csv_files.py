"""Writes the CSV files of a report, whose rows also have readable names."""

from typing import BinaryIO

import pandas as pd

from tracegraph.workbench.findings.findings import PATH_COLUMNS
from tracegraph.workbench.sections.shown_names import with_labels
from tracegraph.workbench.text.csv_rows import frame_csv, many_rows_csv


def write_path_csv(path: pd.DataFrame, out: BinaryIO) -> None:
    """Write the rows of the path, in time order, as CSV with PATH_COLUMNS first."""
    frame = with_labels(path)
    rest = (name for name in frame.columns if name not in PATH_COLUMNS)
    out.writelines(many_rows_csv(frame[[*PATH_COLUMNS, *rest]]))


def rows_csv(frame: pd.DataFrame) -> str:
    """Return the rows of a section as CSV."""
    return frame_csv(with_labels(frame))
