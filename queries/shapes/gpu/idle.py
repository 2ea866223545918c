"""Why GPUs are idle: by cause, and by place in the call stacks."""

from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column, Parameter
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.path.inside import path_inside
from tracegraph.queries.shapes.peak.time_sums import each_entry
from tracegraph.vocabulary.categories import GAP

LEAST_IDLE = Parameter(
    "least_ns",
    "INTEGER",
    "shortest idle time that is explained, ns, 1..1000000000000, default 1",
    (1, 10**12),
    1,
)
MOST_CAUSES = Parameter("limit", "INTEGER", "rows listed, 1..10000, default 1000", (1, 10_000), 1000)
CAUSE_COLUMNS = (
    Column("rank", "INTEGER", False, "rank whose GPUs are idle"),
    Column("cause", "STRING", False, "name of the event that goes on meanwhile, or of the gap"),
    Column("category", "STRING", False, f"Kineto category of the event, or `{GAP}`"),
    Column("caller", "STRING", True, "name of what called it, or of its thread; null for a gap"),
    Column("cause_rank", "INTEGER", False, "rank on which it goes on"),
    Column("lane_name", "STRING", False, "thread or stream on which it goes on"),
    Column("idle_ns", "INTEGER", False, "how much idle time it takes, ns"),
    Column("share", "FLOAT", False, "the same as a share of the rank's idle time that is explained, 0..1"),
    Column("count", "INTEGER", False, "number of idle times in which it goes on"),
    Column("longest_ns", "INTEGER", False, "the most of one idle time, ns"),
    Column("next_name", "STRING", False, "name of the work that waits longest for it"),
)
"""Columns of `idle_causes`."""
FRAME_COLUMNS = (
    Column("frame", "INTEGER", False, "frame id"),
    Column("parent", "INTEGER", True, "id of the frame that called it, null for the root of a lane"),
    Column("depth", "INTEGER", False, "number of calls between the root and it"),
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("name", "STRING", False, "name of the events, of the lane or of the gap"),
    Column(
        "category", "STRING", False, f"Kineto category, `thread` or `stream` for a lane, `{GAP}` for a gap"
    ),
    Column("duration_ns", "INTEGER", False, "idle time of GPUs in it itself, not in what it called, ns"),
    Column("lag", "STRING", True, "name of the gap before it, null for its own time"),
)
"""Columns of `idle_frames`."""
EMPTY_WHEN = "no GPU is idle between two activities in the window"
_LISTS = ["work", "idle_ns", "begin_ns", "end_ns"]
_PLACE = ["rank", "cause", "category", "lane", "caller"]
_NONE = -1
"""What `frame_tree` has for the parent of a root, and `idle_stretches` where no frame is known."""


def idle_causes(
    values: Values, stretches: pd.DataFrame, tree: pd.DataFrame, lanes: pd.DataFrame
) -> pd.DataFrame:
    """Sum idle time by cause and caller, longest first, from `idle_stretches`, `frame_tree` and `lanes`."""
    found = _explained(values, stretches)
    found["frame"] = found["frame"].where(~found["is_lag"], _NONE)
    of_frame = ["rank", "cause", "category", "lane", "frame", "next_name"]
    each = found.groupby([*of_frame, "work"], sort=False)["length_ns"].sum().reset_index()
    sums = each.groupby(of_frame, sort=False)["length_ns"].agg(["sum", "size", "max"]).reset_index()
    frames = _frames(tree)
    above = sums["frame"].map(frames["parent"])
    sums["caller"] = above.map(frames["name"]).astype(object)
    sums = _summed(sums, [*_PLACE, "next_name"], {"sum": "sum", "size": "sum", "max": "max"})
    sums = sums.sort_values(["sum", "next_name"], ascending=[False, True])
    rows = _summed(sums, _PLACE, {"sum": "sum", "size": "sum", "max": "max", "next_name": "first"})
    rows["share"] = rows["sum"] / rows.groupby("rank")["sum"].transform("sum")
    known = lanes.set_index("lane")
    rows = rows.assign(cause_rank=rows["lane"].map(known["rank"]), lane_name=rows["lane"].map(known["name"]))
    rows = rows.rename(columns={"sum": "idle_ns", "size": "count", "max": "longest_ns"})
    rows = _ordered(rows, "lane").head(int(values["limit"]))
    return _ordered(rows, "lane_name")[[column.name for column in CAUSE_COLUMNS]]


def idle_frames(values: Values, stretches: pd.DataFrame, tree: pd.DataFrame) -> pd.DataFrame:
    """Return the frames in which GPUs are idle, with all that called them, from the same rows."""
    found = _explained(values, stretches)
    spent = found.assign(lag=found["cause"].where(found["is_lag"]))[found["frame"].ne(_NONE)]
    spent = spent.groupby(["frame", "lag"], dropna=False)["length_ns"].sum().reset_index()
    frames = _frames(tree)
    callers, level = set[int](), set(spent["frame"].tolist())
    while level:
        level = {int(one) for one in frames["parent"].reindex(sorted(level)) if one != _NONE} - callers
        callers |= level
    above = pd.DataFrame({"frame": sorted(callers), "lag": None, "length_ns": 0})
    rows = pd.concat([spent, above.astype({"frame": "int64", "length_ns": "int64"})], ignore_index=True)
    rows["lag"] = rows["lag"].astype(object).where(rows["lag"].notna(), None)
    rows = rows.groupby(["frame", "lag"], dropna=False)["length_ns"].sum().reset_index(name="duration_ns")
    rows = rows.join(frames, on="frame").sort_values(["frame", "lag"], ignore_index=True)
    parent = rows["parent"].astype("Int64")
    return rows.assign(parent=parent.mask(parent.eq(_NONE)))[[column.name for column in FRAME_COLUMNS]]


def idle_inside(values: Values, stretches: pd.DataFrame, tree: pd.DataFrame) -> pd.DataFrame:
    """Sum idle time inside each name, as `path_inside` does, from the same rows."""
    return path_inside(values, idle_frames(values, stretches, tree))


def _explained(values: Values, stretches: pd.DataFrame) -> pd.DataFrame:
    """Make a row of each stretch of the idle times between work that are long enough."""
    rows = each_entry(stretches, _LISTS)
    rows["length_ns"] = rows["end_ns"] - rows["begin_ns"]
    return rows[rows["idle_ns"] >= int(values["least_ns"])].reset_index(drop=True)


def _frames(tree: pd.DataFrame) -> pd.DataFrame:
    """Make a row of each frame, by its id."""
    rows = each_entry(tree.drop(columns="name"), ["frame", "parent", "depth"])
    names = np.array([name for listed in tree["name"] for name in listed], dtype=object)
    return rows.assign(name=names).set_index("frame")


def _summed(rows: pd.DataFrame, by: list[str], how: dict[str, Any]) -> pd.DataFrame:
    """Sum up rows; what none called has no caller."""
    return rows.groupby(by, sort=False, dropna=False).agg(how).reset_index()


def _ordered(rows: pd.DataFrame, place: str) -> pd.DataFrame:
    order = {"idle_ns": False, "rank": True, "cause": True, "caller": True, place: True}
    return rows.sort_values(list(order), ascending=list(order.values()), ignore_index=True, kind="stable")
