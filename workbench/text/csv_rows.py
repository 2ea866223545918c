"""Rows as CSV: harmless to spreadsheets and terminals, or raw, for machines."""

from collections.abc import Callable
from typing import Any

import pandas as pd
from pandas.api.types import infer_dtype, is_bool_dtype, is_numeric_dtype

from tracegraph.workbench.text.text import csv_safe, csv_text
from tracegraph.workbench.text.values import as_data_text

_OWN_END, _END = "\r\n", "\n"
_TEXTS = ("string", "categorical")
"""The types of columns that hold texts only, as pandas names them."""


def frame_csv(frame: pd.DataFrame, *, raw: bool = False) -> str:
    """Return any rows as CSV with headers in the first line; columns other than numbers are text.

    Texts come from traces and from others' queries: by default no cell is a formula, and control characters
    are escapes (`csv_safe`). `raw`: every value is unchanged except NUL, which many readers refuse. Line
    breaks within a cell, also carriage returns, are in quotes.
    """
    told = csv_text if raw else csv_safe
    columns = [_column(frame.iloc[:, place], told) for place in range(frame.shape[1])]
    cells = pd.concat(columns, axis=1) if columns else frame
    headers = [told(str(name)) for name in frame.columns]
    # The csv module quotes a carriage return only where it is part of the end of a line.
    text: str = cells.to_csv(index=False, header=headers, lineterminator=_OWN_END)
    outside = text.split('"')  # every second part is in quotes
    outside[::2] = (part.replace(_OWN_END, _END) for part in outside[::2])
    return '"'.join(outside)


def _column(values: "pd.Series[Any]", told: Callable[[str], str]) -> "pd.Series[Any]":
    if is_numeric_dtype(values.dtype) or is_bool_dtype(values.dtype):
        return values
    if infer_dtype(values, skipna=True) not in _TEXTS:
        return values.map(lambda value: _cell(value, told))
    codes, texts = pd.factorize(values)  # names repeat many times
    cells = pd.Series([*(_cell(value, told) for value in texts), None], dtype=object)
    return cells.take(codes).set_axis(values.index)


def _cell(value: object, told: Callable[[str], str]) -> str:
    return told(value) if isinstance(value, str) else as_data_text(value)
