"""Inclusive time on a path: of what runs inside a name, or was launched from inside it."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.call_tree import call_tree
from tracegraph.vocabulary.categories import GAP

INSIDE_COLUMNS = (
    Column(
        "name",
        "STRING",
        False,
        "name of an annotation, a module, a function, an operator, a call or a kernel",
    ),
    Column("category", "STRING", False, "Kineto category"),
    Column("duration_ns", "INTEGER", False, "time on the path inside it or launched from inside it, ns"),
    Column("share", "FLOAT", False, "share of the path, 0..1"),
    Column("own_ns", "INTEGER", False, "how much of it is its own work, ns"),
    Column("gap_ns", "INTEGER", False, "how much of it is waits and other gaps, ns"),
)
"""Columns of `path_inside`."""
_OF_PATH = re.compile("(time on )?the path")
IDLE_COLUMNS = tuple(
    replace(column, meaning=_OF_PATH.sub("the idle time", column.meaning)) for column in INSIDE_COLUMNS
)
"""Columns of `idle_inside`: the same for the time in which GPUs are idle."""


def path_inside(_: Mapping[str, Any], frames: pd.DataFrame) -> pd.DataFrame:
    """Sum the time on the path inside each name, longest first, from `path_frames`.

    A stretch counts once for each name above it: of frames inside others of the same name only the outermost
    counts.
    """
    rows = call_tree(frames)
    length = max(1, int(frames["duration_ns"].sum()))
    named = rows["parent"].notna() & rows["category"].ne(GAP)
    groups = rows[named].groupby(["name", "category"], sort=False)
    found = groups.agg(own_ns=("own_ns", "sum")).reset_index()
    outermost = rows[named & ~_inside_itself(rows)].groupby(["name", "category"], sort=False)
    sums = outermost[["duration_ns", "gap_ns"]].sum().reset_index()
    found = found.merge(sums, on=["name", "category"])
    found["share"] = found["duration_ns"] / length
    found = found[found["duration_ns"] > 0]
    order = {"duration_ns": False, "name": True, "category": True}
    found = found.sort_values(list(order), ascending=list(order.values()), ignore_index=True)
    return found[[column.name for column in INSIDE_COLUMNS]]


def _inside_itself(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Tell which frames have another of their name and category above them."""
    above: dict[int, frozenset[tuple[str, ...]]] = {}
    inside = []
    columns = (rows["frame"], rows["parent"].fillna(-1), rows["name"], rows["category"])
    for frame, parent, *key in zip(*columns, strict=True):
        known = above.get(parent, frozenset())
        inside.append(tuple(key) in known)
        above[frame] = known | {tuple(key)}
    return pd.Series(inside, index=rows.index, dtype=bool)
