"""Names that mean the same in two recordings, although their texts differ."""

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from tracegraph.vocabulary.canonical_names import common_name
from tracegraph.vocabulary.categories import GPU_WORK, Role, has_role

_FRAME = re.compile(r"(?P<file>.+?)\(\d+\): (?P<function>.+)", re.DOTALL)
_MEMORY = ("Memcpy", "Memset")
_CLONE = re.compile(r" \[clone [^\]]*\]$")
_ANONYMOUS = "(anonymous namespace)::"
_VENDOR = re.compile(r"(cuda|hip)(?=[A-Z])")
_OPENING, _CLOSING = "<(", ">)"


def short_name(name: str, category: str) -> str:
    """Shorten a name by what differs between recordings, according to its category.

    A kernel in C++ loses template arguments, parameters and result, as in HTA's short names; a Python
    function the line in its file; a call its vendor. Any other name becomes that of every process
    (`common_name`).
    """
    if has_role(category, *GPU_WORK):
        return _function(name)
    if has_role(category, Role.CALL):
        return _VENDOR.sub("", name, count=1) if _VENDOR.match(name) else name
    frame = _FRAME.fullmatch(name) if has_role(category, Role.FRAME) else None
    return common_name(name) if frame is None else f"{frame['file']}: {frame['function']}"


def _function(name: str) -> str:
    if name.startswith(_MEMORY) or not any(char in name for char in _OPENING):
        return name
    words = "".join(_outside(_CLONE.sub("", name).replace(_ANONYMOUS, "").replace("->", ""))).split()
    return words[-1] if words else name


def _outside(text: str) -> Iterator[str]:
    """Yield the characters outside of brackets."""
    depth = 0
    for char in text:
        if char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth = max(0, depth - 1)
        elif not depth:
            yield char


def matched_names(rows: pd.DataFrame, kind: str) -> "pd.Series[Any]":
    """Return a name for each row that is the same for similar names of A and of B.

    A name that both sides have stays. The other names of one kind that share a short name get it, if there
    are some on either side.

    Parameters
    ----------
    rows
        A row for each name, category and kind, with `count_a` and `count_b`.
    kind
        The column that has to be the same, too.
    """
    lone = rows[rows["count_a"].eq(0) | rows["count_b"].eq(0)]
    pairs = zip(lone["name"], lone["category"], strict=True)
    short = pd.Series([short_name(*pair) for pair in pairs], lone.index, object)
    sides = lone["count_a"].eq(0).groupby([lone[kind], short]).transform("nunique")
    return rows["name"].mask(sides.reindex(rows.index, fill_value=1).gt(1), short)
