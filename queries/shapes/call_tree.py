"""The tree of call stacks from the rows of `path_frames` or `off_path_frames`, with gaps as frames."""

import numpy as np
import pandas as pd

from tracegraph.queries.shapes.category_roles import of_role
from tracegraph.vocabulary.categories import GAP, GPU_WORK
from tracegraph.vocabulary.gaps import EARLIER_WORK


def call_tree(frames: pd.DataFrame) -> pd.DataFrame:
    """Build the tree: a row for each frame, after its parent, with its own time and that of its calls.

    `own_ns` is the time of the frame itself; `duration_ns` and `gap_ns` include all that it called. A lag
    before work of the GPU is a gap of the call that launched it, any other lag one of its frame; work from
    before the recording is one of the lane, since no call of the file launched it. Gaps of one name in a
    frame are one frame, with a negative id if the graph has none for it.
    """
    lags = frames[frames["lag"].notna()]
    launched = of_role(lags["category"], *GPU_WORK) & lags["parent"].notna()
    parent, earlier = (
        lags["frame"].mask(launched, lags["parent"]).astype("Int64"),
        lags["lag"].eq(EARLIER_WORK),
    )
    gaps = pd.DataFrame(
        {
            "parent": parent.mask(earlier, _roots(frames, lags.loc[earlier, "frame"])),
            "depth": (lags["depth"] + 1 - launched).mask(earlier, 1),
            "name": lags["lag"],
            "category": GAP,
            "duration_ns": lags["duration_ns"],
        }
    )
    listed = frames.assign(duration_ns=frames["duration_ns"].where(frames["lag"].isna(), 0))
    rows = pd.concat([listed, gaps.sort_values(["parent", "name"])], ignore_index=True)
    rows["frame"] = rows["frame"].fillna(pd.Series(-2 - rows.index, rows.index)).astype("int64")
    return _with_sums(_merged(rows))


def _roots(frames: pd.DataFrame, of: "pd.Series[int]") -> "pd.Series[int]":
    """Find the lanes of some frames, as the ids of their roots."""
    callers = frames.drop_duplicates("frame").set_index("frame")["parent"].dropna().astype("int64").to_dict()

    def root(frame: int) -> int:
        while frame in callers:
            frame = callers[frame]
        return frame

    return of.map(root).astype("Int64")


def _merged(rows: pd.DataFrame) -> pd.DataFrame:
    """Merge the rows of one frame, and the gaps of one name and parent."""
    gap = rows["category"].eq(GAP)
    kept = rows[gap].drop_duplicates(["parent", "name"]).set_index(["parent", "name"])["frame"]
    same = kept.reindex(pd.MultiIndex.from_frame(rows.loc[gap, ["parent", "name"]])).to_numpy()
    rows.loc[gap, "frame"] = same
    own = rows.groupby("frame", sort=False)["duration_ns"].sum()
    found = rows.drop_duplicates("frame").sort_values("depth", kind="stable", ignore_index=True)
    return found[["frame", "parent", "depth", "name", "category"]].assign(own_ns=found["frame"].map(own))


def _with_sums(rows: pd.DataFrame) -> pd.DataFrame:
    own = rows["own_ns"].to_numpy(dtype=np.int64)
    total, gap = own.copy(), np.where(rows["category"].eq(GAP), own, 0)
    parent = pd.Index(rows["frame"]).get_indexer(pd.Index(rows["parent"].fillna(-1).astype("int64")))
    # Backwards, because a frame stands after its parent.
    for here in range(len(rows) - 1, -1, -1):
        if parent[here] >= 0:
            total[parent[here]] += total[here]
            gap[parent[here]] += gap[here]
    return rows.assign(duration_ns=total, gap_ns=gap)
