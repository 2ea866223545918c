"""A value of a table as text for people, by the kind of its column."""

from math import isnan

import pandas as pd

from tracegraph.workbench.sections.blocks import Kind
from tracegraph.workbench.text import format_ns, format_share, label

_MOST_CELLS = 400


def number(value: object) -> str:
    """A number as JavaScript reads it, empty for a missing one."""
    return "" if _is_missing(value) else str(value)


def cell_text(kind: Kind, value: object) -> str:
    """One safe text; lines stay lines where the kind is `lines`, and what is missing is empty."""
    if _is_missing(value):
        return ""
    if kind == "duration":
        return format_ns(float(str(value)))
    if kind == "share":
        return format_share(float(str(value)))
    if kind == "count":
        return f"{int(str(value)):,}"
    if kind == "lines":
        return "\n".join(label(line, _MOST_CELLS) for line in str(value).split("\n"))
    return label(str(value), _MOST_CELLS)


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and isnan(value))
