"""Inclusive time on a path: what runs inside a name, or was launched from inside it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.roles import of_role
from tracegraph.store.categories import GAP, GPU_WORK

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


def inclusive_frames(frames: pd.DataFrame) -> pd.DataFrame:
    """A row a frame of `path_frames`, by its id: own_ns, and with all that it called duration_ns and gap_ns.

    A lag before work of the GPU counts for the call that launched it, any other for its frame.
    """
    listed = frames.drop_duplicates("frame").set_index("frame").sort_index()
    is_gap = frames["category"].eq(GAP) | frames["lag"].notna()
    launched = frames["lag"].notna() & of_role(frames["category"], *GPU_WORK) & frames["parent"].notna()
    at = frames["frame"].mask(launched, frames["parent"]).astype("int64")
    place = listed.index.get_indexer(pd.Index(at))
    spent = frames["duration_ns"].to_numpy(dtype=np.int64)
    total, gap = (np.bincount(place, spent * part, len(listed)).astype(np.int64) for part in (1, is_gap))
    own = total - gap
    parent = listed.index.get_indexer(pd.Index(listed["parent"].fillna(-1).astype("int64")))
    # A frame stands after its parent.
    for here in range(len(listed) - 1, -1, -1):
        if parent[here] >= 0:
            total[parent[here]] += total[here]
            gap[parent[here]] += gap[here]
    rows = listed[["parent", "depth", "name", "category"]]
    return rows.assign(duration_ns=total, own_ns=own, gap_ns=gap).reset_index()


def path_inside(_: Mapping[str, Any], frames: pd.DataFrame) -> pd.DataFrame:
    """Time on the path inside each name, longest first, from `path_frames`.

    A stretch counts once for each name above it: of frames inside others of the same name only the outermost.
    """
    rows = inclusive_frames(frames)
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
    """Which frames have another of their name and category above them."""
    above: dict[int, frozenset[tuple[str, ...]]] = {}
    inside = []
    columns = (rows["frame"], rows["parent"].fillna(-1), rows["name"], rows["category"])
    for frame, parent, *key in zip(*columns, strict=True):
        known = above.get(parent, frozenset())
        inside.append(tuple(key) in known)
        above[frame] = known | {tuple(key)}
    return pd.Series(inside, index=rows.index, dtype=bool)
