"""A DataFrame as a table for people, or as CSV, JSON or Parquet for machines.

The words of a query's header say how a person reads its columns. A name in `_ns` whose meaning ends in
`, ns` is a time. One whose name ends in a word of `_POSITIONS` is a place on the file's clock and stays the
exact integer that finds it there; any other is a length and gets a unit, in place of the `_ns`. Values whose
meaning ends in `, B` or `, B/s` are bytes. A FLOAT `share …, 0..1` is per cent. An INTEGER that is named
`count`, or whose meaning begins with `number of` or `how many`, gets separators of thousands; ids do not.
"""

import codecs
import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas.api.types import is_numeric_dtype
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tracegraph.base.errors import InputError
from tracegraph.base.units import format_bytes
from tracegraph.cli.reporters.fit import fit
from tracegraph.cli.reporters.layout import open_console
from tracegraph.queries.module import Column
from tracegraph.workbench.text.csv_rows import frame_csv
from tracegraph.workbench.text.text import format_ns, format_share, label, visible
from tracegraph.workbench.text.values import as_text, plain

_POSITIONS = (
    *("start", "end", "enter", "exit", "at", "completion", "arrival", "ready"),
    *("launched", "begins", "ends", "use"),
)
"""The last words of the names of columns that are places on the file's clock rather than lengths."""
_POSITION = re.compile(rf"(.*_)?({'|'.join(_POSITIONS)})_ns")
_SHARE = re.compile(r"\bshare\b.*, 0\.\.1$")
_COUNT = re.compile("(number of|how many) ")
_MOST_CELLS = 120
"""How many cells of the terminal a text may take before it is shortened."""
_NO_LIMIT = 100_000
"""The width of a table that is written to a file."""


def readable_name(column: Column) -> str:
    """Return the name of a column, without the unit that its values then have."""
    return column.name.removesuffix("_ns") if _is_length(column) else column.name


def readable_value(column: Column, value: object) -> str | None:
    """Format a value with its unit; None if it is shown as it is."""
    if value is None or pd.isna(value):  # type: ignore[call-overload]
        return None
    if _is_length(column):
        return format_ns(value)  # type: ignore[arg-type]
    if column.meaning.endswith((", B", ", B/s")):
        return format_bytes(round(value)) + ("/s" if column.meaning.endswith("/s") else "")  # type: ignore[call-overload]
    if column.type == "FLOAT" and _SHARE.search(column.meaning):
        return format_share(value)  # type: ignore[arg-type]
    if column.type == "INTEGER" and (column.name == "count" or _COUNT.match(column.meaning)):
        return f"{value:,}"
    return None


def _is_length(column: Column) -> bool:
    stated = column.name.endswith("_ns") and column.meaning.endswith(", ns")
    return stated and not _POSITION.fullmatch(column.name)


def write_frame(
    frame: pd.DataFrame,
    form: str,
    output: Path | None,
    columns: Iterable[Column] = (),
    *,
    raw: bool = False,
) -> None:
    """Write rows to the file `output`, else to stdout.

    The table makes hostile text harmless, gives values of the `columns` of a named query their unit, and is
    as wide as the terminal, a pipe as `open_console` says: names are cut and columns left out, which stderr
    says. JSON and Parquet hold every value unchanged, and so does CSV if it is `raw`; otherwise no cell
    of a CSV file is a formula or a control sequence for a terminal.

    Parameters
    ----------
    form
        One of `tracegraph.cli.options.FORMATS`.
    columns
        The columns as the header of a named query declares them; only the table uses them.

    Raises
    ------
    InputError
        Parquet is asked for without a file, Parquet cannot hold a column, or the file cannot be written.
    """
    if form == "parquet" and output is None:
        raise InputError("parquet cannot be shown", "name a file with -o")
    if output is None:
        if form == "table":
            note = _print(frame, open_console(), columns)
            if note:
                click.echo(note, err=True)
        else:
            write_utf8(_text(frame, form, raw))
        return
    try:
        _save(frame, form, output, columns, raw)
    except OSError as error:
        raise InputError(f"cannot write {output}: {error.strerror}", "choose another file with -o") from error


def _save(frame: pd.DataFrame, form: str, output: Path, columns: Iterable[Column], raw: bool) -> None:
    if form == "parquet":
        pq.write_table(_arrow(frame), output)
        return
    with output.open("w", encoding="utf-8", newline="") as stream:
        if form == "table":
            _print(frame, Console(file=stream, width=_NO_LIMIT), columns)
        else:
            stream.write(_text(frame, form, raw))


def write_utf8(text: str) -> None:
    """Write what a program reads: the same bytes in every locale, as into a file."""
    if codecs.lookup(sys.stdout.encoding).name == "utf-8":
        sys.stdout.write(text)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())


def _text(frame: pd.DataFrame, form: str, raw: bool) -> str:
    if form == "csv":
        return frame_csv(frame, raw=raw)
    return (
        json.dumps([dict(zip(frame.columns, row, strict=True)) for row in _plain_rows(frame)], indent=1)
        + "\n"
    )


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


def _print(frame: pd.DataFrame, console: Console, columns: Iterable[Column]) -> str:
    """Print the table as wide as the console at most; return what is not shown, and how to see it."""
    known = {column.name: column for column in columns}
    headers = [known.get(name) for name in frame.columns]
    titles = [
        visible(name if column is None else readable_name(column))
        for name, column in zip(frame.columns, headers, strict=True)
    ]
    rows = [
        [_cell(value, column) for value, column in zip(row, headers, strict=True)]
        for row in frame.astype(object).itertuples(index=False)
    ]
    texts = [not is_numeric_dtype(dtype) for dtype in frame.dtypes]
    found = fit(rows, titles, texts, console.width)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    shown = list(zip(found.columns, found.widths, strict=True))
    for place, _ in shown:
        table.add_column(Text(titles[place]), justify="left" if texts[place] else "right", no_wrap=True)
    for row in rows:
        cells = ((row[place], texts[place], width) for place, width in shown)
        table.add_row(*(Text(label(cell, width) if is_text else cell) for cell, is_text, width in cells))
    console.print(table)
    left_out = [title for place, title in enumerate(titles) if place not in found.columns]
    return _left_out(left_out, is_cut=found.is_cut)


def _left_out(titles: Sequence[str], *, is_cut: bool) -> str:
    """Say what a table does not show; empty if it shows all."""
    parts = ["texts are cut"] if is_cut else []
    parts += [f"left out: {', '.join(titles)}"] if titles else []
    return f"{'; '.join(parts)}; --format csv shows all, COLUMNS=200 more" if parts else ""


def _cell(value: object, column: Column | None) -> str:
    text = None if column is None else readable_value(column, value)
    if text is not None:
        return text
    text = f"{value:.6g}" if isinstance(value, float) and not math.isnan(value) else as_text(value)
    return label(text, _MOST_CELLS)
