"""Writes a value of a table as text for people, by the kind of its column."""

from collections.abc import Callable, Iterable, Mapping
from math import isnan
from typing import Any

import pandas as pd

from tracegraph.base.units import format_bytes
from tracegraph.workbench.sections.blocks import Kind, Part
from tracegraph.workbench.sections.shown_names import ShownNames
from tracegraph.workbench.text.text import format_amount, format_ns, format_share, format_times, label

_MOST_CELLS = 400
"""How many cells a text may take before it is shortened."""
_WRITTEN: Mapping[str, Callable[[Any], str]] = {
    "duration": format_ns,
    "share": format_share,
    "count": "{:,}".format,
    "bytes": format_bytes,
    "amount": format_amount,
    "times": "{:.3f}".format,
    "bandwidth": lambda value: f"{format_bytes(round(value))}/s",
}


def number(value: object) -> str:
    """Write a number as JavaScript reads it; empty for a missing one."""
    return "" if _is_missing(value) else str(value)


def cell_text(kind: Kind, value: Any, names: ShownNames) -> str:
    """Write a value as one safe text; `lines` has several lines, and a missing value is empty."""
    if kind == "lines":
        return "\n".join(_lines(value, names))
    if _is_missing(value):
        return ""
    if kind in _WRITTEN:
        return _WRITTEN[kind](value)
    return names.of(value) if kind == "name" else label(str(value), _MOST_CELLS)


def said_faster(part: Part) -> str:
    """Say how fast the whole would be without a part; empty where that is not known."""
    return "" if part.faster is None else f"{format_times(part.faster)} times as fast"


def _lines(pairs: Iterable[tuple[str, str]], names: ShownNames) -> Iterable[str]:
    return (label(words, _MOST_CELLS) + names.of(name) for words, name in pairs)


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and isnan(value))
