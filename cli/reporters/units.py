"""How a person reads the columns of a named query: what the words of its header make of name and values.

A name in `_ns` whose meaning ends in `, ns` is a time. One whose name ends in a word of `_POSITIONS` is a
place on the file's clock and stays the exact integer that finds it there; any other is a length and gets
a unit, in place of the `_ns`. Values whose meaning ends in `, B` or `, B/s` are bytes. A FLOAT `share …,
0..1` is per cent. An INTEGER that is named `count`, or whose meaning begins with `number of` or `how many`,
gets separators of thousands; ids do not.
"""

import re

import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.workbench.text.text import format_bytes, format_ns, format_share

_POSITIONS = ("start", "end", "enter", "exit", "at", "completion", "arrival")
_POSITION = re.compile(rf"(.*_)?({'|'.join(_POSITIONS)})_ns")
_SHARE = re.compile(r"\bshare\b.*, 0\.\.1$")
_COUNT = re.compile("(number of|how many) ")


def readable_name(column: Column) -> str:
    """The name of a column, without the unit that its values then have."""
    return column.name.removesuffix("_ns") if _is_length(column) else column.name


def readable_value(column: Column, value: object) -> str | None:
    """A value with its unit; None where it is shown as it is."""
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
