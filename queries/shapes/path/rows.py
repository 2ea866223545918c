"""The critical path in time order: events and named gaps that tile a window."""

from itertools import chain as joined

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.vocabulary.categories import GAP

PATH_COLUMNS = (
    Column("position", "INTEGER", False, "0-based place on the path"),
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("lane", "INTEGER", False, "lane id"),
    Column("source_index", "INTEGER", True, "0-based position in the file's traceEvents, null for a gap"),
    Column("name", "STRING", False, "name of the event, or of the gap"),
    Column("category", "STRING", False, "Kineto category, or `gap`"),
    Column("start_ns", "INTEGER", False, "start, clipped to the window, ns"),
    Column("end_ns", "INTEGER", False, "end, clipped to the window, ns"),
    Column("dependency", "STRING", False, "what explains the start; `root` for the first row"),
    Column("mechanism", "STRING", True, "the rule that made the dependency"),
    Column("evidence", "STRING", True, "`recorded` or `inferred`"),
    Column("confidence", "FLOAT", True, "how sure the rule is, 0..1"),
    Column("lag_ns", "INTEGER", True, "what a replay adds to the cause's completion, ns"),
    Column("lane_name", "STRING", False, "readable name of the lane"),
    Column("margin_ns", "INTEGER", True, "how much later the cause comes than the second-best, ns"),
)
"""Columns of `critical_path`."""


def path_rows(values: Values, groups: pd.DataFrame, lanes: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a path in time order, from `path_segments` and `lanes`; they tile the window.

    A row is a stretch of one event, or a named gap (category `gap`, no source_index): time in which no event
    is open, a wait, or the lag between a cause and its effect. The result is empty if the run has no such
    chain.
    """
    # Of segments that start together, the first is the one after a lag, and only the last has a length.
    order = ["start_ns", "end_ns", "gap_ns"]
    segments = unfold_segments(groups).sort_values(order, ascending=[True, True, False])
    lags = segments.assign(
        start_ns=segments["end_ns"].shift(fill_value=values["start_ns"]),
        end_ns=segments["start_ns"],
        name=segments["lag_name"],
        category=GAP,
        source_index=pd.array([pd.NA] * len(segments), dtype="Int64"),
    )
    stretches = pd.concat([lags, segments], ignore_index=True)
    stretches = stretches[stretches["start_ns"] < stretches["end_ns"]].sort_values("start_ns")
    rows = _merge_pieces(stretches)
    rows.insert(0, "position", range(len(rows)))
    details = ["dependency", "mechanism", "evidence", "confidence", "lag_ns", "margin_ns"]
    rows.loc[rows["position"] == 0, details] = None
    rows["dependency"] = rows["dependency"].fillna("root")
    rows["lane_name"] = rows["lane"].map(lanes.set_index("lane")["name"])
    return rows


def unfold_segments(groups: pd.DataFrame) -> pd.DataFrame:
    """Unfold the rows of `path_segments` into a row for each segment, in no particular order.

    A gap has no `source_index`, and a segment without a second cause has no `margin_ns`: they are null.
    """
    lists = ["source_index", "margin_ns", "start_ns", "end_ns"]
    sizes = groups["start_ns"].map(len).astype("int64")
    segments = groups.drop(columns=lists).loc[groups.index.repeat(sizes)].reset_index(drop=True)
    for name in lists:
        segments[name] = np.fromiter(joined.from_iterable(groups[name]), dtype=np.int64, count=len(segments))
    for name in ("source_index", "margin_ns"):
        segments[name] = segments[name].astype("Int64").mask(segments[name] < 0)
    return segments


def _merge_pieces(stretches: pd.DataFrame) -> pd.DataFrame:
    """Merge neighbouring pieces of one event into a row that keeps what explains the first piece."""
    index, lane = stretches["source_index"], stretches["lane"]
    continues = (index == index.shift()).fillna(False).astype(bool) & (lane == lane.shift())
    ends = stretches["end_ns"][~continues.shift(-1, fill_value=False)]
    rows = stretches[~continues].reset_index(drop=True)
    rows["end_ns"] = ends.reset_index(drop=True)
    return rows
