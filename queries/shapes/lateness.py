"""Causes of a late rank: what it does more of than the middle rank, as far as that is on the path."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.call_tree import call_tree
from tracegraph.vocabulary.canonical_names import common_name
from tracegraph.vocabulary.categories import GAP, Role, has_role
from tracegraph.vocabulary.gaps import OUTSIDE_RECORDING
from tracegraph.vocabulary.python_frames import is_library
from tracegraph.vocabulary.step_names import STEP_PREFIX

LATE_COLUMNS = (
    Column("rank", "INTEGER", False, "rank that made others wait"),
    Column("name", "STRING", False, "name of the events, or of the gap"),
    Column("category", "STRING", False, "Kineto category, or `gap`"),
    Column("inside", "STRING", True, "innermost annotation or function of the user around most of it"),
    Column("duration_ns", "INTEGER", False, "its time on this rank, on the path or not, ns"),
    Column("middle_ns", "INTEGER", False, "the same of the middle rank, of two the one with less, ns"),
    Column("on_path_ns", "INTEGER", False, "how much of it is on the path, ns"),
    Column("late_ns", "INTEGER", False, "how late it may make the rank: what is more, on the path, ns"),
)
"""Columns of `late_causes`."""
_KEYS = ["name", "category"]


def late_causes(
    _: Mapping[str, Any],
    waits: pd.DataFrame,
    work: pd.DataFrame,
    gaps: pd.DataFrame,
    frames: pd.DataFrame,
    steps: pd.DataFrame,
) -> pd.DataFrame:
    """List names by how late they may make a rank, from all that the ranks do, the path and the steps.

    A rank that made others wait is late by what it has more of than the middle rank, but by no more than is
    on the path. Steps are left out, as their own time is what nobody recorded, and so are the collectives,
    and the time before a rank's recording begins. Ranks in short are left out, too: what they do is not here.

    Parameters
    ----------
    waits, work, gaps
        The rows of `rank_waits`, `rank_work` and `rank_gaps`.
    frames, steps
        The rows of `path_frames` and `steps`.

    Returns
    -------
    pd.DataFrame
        `LATE_COLUMNS`, the largest `late_ns` first.
    """
    columns = [column.name for column in LATE_COLUMNS]
    in_full = waits.loc[~waits["in_short"], "rank"]
    on_path = _on_path(frames)
    rows = on_path.groupby(["rank", *_KEYS], as_index=False).agg(on_path_ns=("own_ns", "sum"))
    every = pd.concat([work, gaps.assign(category=GAP)])
    every = _plain(every[every["rank"].isin(in_full)])
    own = every.groupby(["rank", *_KEYS])["duration_ns"].sum().reset_index()
    rows = rows.merge(own, how="left", on=["rank", *_KEYS]).fillna({"duration_ns": 0})
    rows = rows.merge(_middle(own, len(in_full)), how="left", on=_KEYS).fillna({"middle_ns": 0})
    rows["late_ns"] = (rows["duration_ns"] - rows["middle_ns"]).clip(upper=rows["on_path_ns"])
    late = waits.loc[~waits["in_short"] & (waits["caused_ns"] > 0), "rank"]
    told = _plain(work.loc[work["is_collective"]])["name"]
    listed = rows["rank"].isin(late) & (rows["late_ns"] > 0)
    markers = {STEP_PREFIX, *steps["marker"]}
    listed &= ~rows["name"].isin({*markers, *told, OUTSIDE_RECORDING})
    order = {"late_ns": False, "rank": True, "name": True, "category": True}
    rows = rows[listed].sort_values(list(order), ascending=list(order.values()), ignore_index=True)
    around = _around(frames, on_path, markers)
    rows["inside"] = [
        around.get(key) for key in zip(rows["rank"], rows["name"], rows["category"], strict=True)
    ]
    return rows.loc[~rows["inside"].isin(told), columns].reset_index(drop=True)


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Give the rows names that are the same on all ranks, by `common_name`."""
    return rows.assign(name=rows["name"].map(common_name))


def _on_path(frames: pd.DataFrame) -> pd.DataFrame:
    """Select the frames that have own time on the path, gaps as frames, each with its rank."""
    tree = call_tree(frames)
    ranks = frames.drop_duplicates("frame").set_index("frame")["rank"]
    own, around = (tree[name].fillna(-1).astype("int64") for name in ("frame", "parent"))
    # A gap for which the graph has no frame is in the frame around it.
    tree["rank"] = own.where(own.isin(ranks.index), around).map(ranks).astype("int64")
    return _plain(tree[tree["own_ns"] > 0])


def _middle(every: pd.DataFrame, ranks: int) -> pd.DataFrame:
    """Return the time of the middle rank by name, of an even number the lower; ranks without it count."""
    place = (ranks - 1) // 2

    def middle(times: "pd.Series[int]") -> int:
        missing = ranks - len(times)
        return 0 if place < missing else int(np.sort(times.to_numpy())[place - missing])

    return every.groupby(_KEYS)["duration_ns"].agg(middle).rename("middle_ns").reset_index()


def _around(
    frames: pd.DataFrame, on_path: pd.DataFrame, markers: set[str]
) -> dict[tuple[int, str, str], str]:
    """Find the user's own function or annotation around the frame with most of each rank and name."""
    known = frames.drop_duplicates("frame").set_index("frame")
    columns = {name: known[name].to_dict() for name in ("parent", "name", "category")}
    found: dict[tuple[int, str, str], str] = {}
    longest = on_path.sort_values("own_ns", ascending=False).drop_duplicates(["rank", *_KEYS])
    for rank, name, category, parent in longest[["rank", *_KEYS, "parent"]].itertuples(index=False):
        at = parent
        while not pd.isna(at):
            around = columns["name"][at]
            if around != name and _is_own(around, columns["category"][at], markers):
                found[int(rank), str(name), str(category)] = around
                break
            at = columns["parent"][at]
    return found


def _is_own(name: str, category: str, markers: set[str]) -> bool:
    """Tell whether a name shows a place in the user's code, as `<listcomp>` does not."""
    if name.endswith(">"):
        return False
    if has_role(category, Role.ANNOTATION):
        return name not in markers
    return has_role(category, Role.FRAME) and not is_library(name, category)
