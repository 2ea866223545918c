"""A DataFrame as a table for people, or as CSV, JSON or Parquet for machines."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tracegraph.store.errors import InputError
from tracegraph.workbench.text import csv_text, label, visible
from tracegraph.workbench.values import as_data_text, as_text, plain

_MOST_CELLS = 120
_NO_LIMIT = 100_000


def write_frame(frame: pd.DataFrame, form: str, output: Path | None) -> None:
    """Write rows to the file `output`, else to stdout, in one of `tracegraph.cli.options.FORMATS`.

    The table makes hostile text harmless and cuts long names; the other forms hold every value unchanged,
    but for NUL in CSV, which many readers refuse.

    Raises:
        InputError: parquet without a file, a column that Parquet cannot hold, a file that cannot be written.
    """
    if form == "parquet" and output is None:
        raise InputError("parquet cannot be shown", "name a file with -o")
    if output is None:
        if form == "table":
            _print(frame, Console(file=sys.stdout, width=None if sys.stdout.isatty() else _NO_LIMIT))
        else:
            sys.stdout.write(_text(frame, form))
        return
    try:
        _save(frame, form, output)
    except OSError as error:
        raise InputError(f"cannot write {output}: {error.strerror}", "choose another file with -o") from error


def _save(frame: pd.DataFrame, form: str, output: Path) -> None:
    if form == "parquet":
        pq.write_table(_arrow(frame), output)
        return
    with output.open("w", encoding="utf-8", newline="") as stream:
        if form == "table":
            _print(frame, Console(file=stream, width=_NO_LIMIT))
        else:
            stream.write(_text(frame, form))


def _text(frame: pd.DataFrame, form: str) -> str:
    if form == "csv":
        cells = {name: _csv_column(frame[name]) for name in frame.columns}
        return str(pd.DataFrame(cells, columns=frame.columns).to_csv(index=False, lineterminator="\n"))
    return (
        json.dumps([dict(zip(frame.columns, row, strict=True)) for row in _plain_rows(frame)], indent=1)
        + "\n"
    )


def _csv_column(values: "pd.Series[Any]") -> "pd.Series[Any]":
    if is_numeric_dtype(values.dtype) or is_bool_dtype(values.dtype):
        return values
    return values.map(lambda value: csv_text(as_data_text(value)))


def _plain_rows(frame: pd.DataFrame) -> list[list[object]]:
    return [[plain(value) for value in row] for row in frame.astype(object).itertuples(index=False)]


def _arrow(frame: pd.DataFrame) -> pa.Table:
    columns = {}
    for name in frame.columns:
        values = frame[name] if frame[name].dtype != object else frame[name].map(plain)
        try:
            columns[name] = pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"Parquet cannot hold column {name}: its values are of several types", "use --format json"
            ) from error
    return pa.table(columns)


def _print(frame: pd.DataFrame, console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in frame.columns:
        number = is_numeric_dtype(frame[name].dtype)
        table.add_column(Text(visible(name)), justify="right" if number else "left", overflow="fold")
    for row in frame.astype(object).itertuples(index=False):
        table.add_row(*(_cell(value) for value in row))
    console.print(table)


def _cell(value: object) -> Text:
    text = f"{value:.6g}" if isinstance(value, float) and not math.isnan(value) else as_text(value)
    return Text(label(text, _MOST_CELLS))
