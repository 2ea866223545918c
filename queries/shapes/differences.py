"""Comparisons of two windows, A and B: the parts of their critical paths, and their events, by name."""

from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column, Parameter
from tracegraph.queries.shapes.derived_query import Derived, Values
from tracegraph.queries.shapes.path.inside import INSIDE_COLUMNS, path_inside
from tracegraph.queries.shapes.path.sums import steps_as_one
from tracegraph.queries.shapes.similar_names import matched_names, short_name
from tracegraph.vocabulary.categories import GAP

EVERY_ROW = {"limit": 1_000_000}
"""The values for modules whose rows must cover all of a window: the largest limit."""
LIMIT = Parameter("limit", "INTEGER", "rows listed, 1..1000000, default 10000", (1, 1_000_000), 10_000)
_MATCHED = Column("matched", "BOOLEAN", False, "whether it stands for several names that mean the same")
PATH_DIFF_COLUMNS = (
    Column("name", "STRING", False, "name of the events, or of the gap; all steps are one"),
    Column("category", "STRING", False, "Kineto category, or `gap`"),
    Column("duration_a_ns", "INTEGER", False, "time on the path of A, ns"),
    Column("duration_b_ns", "INTEGER", False, "time on the path of B, ns"),
    Column("diff_ns", "INTEGER", False, "how much longer that of B is, below 0 shorter, ns"),
    Column("status", "STRING", False, "`entered` the path, `left` it, `grew`, `shrank`, or `same`"),
    Column("count_a", "INTEGER", False, "number of events, or stretches of a gap, on the path of A"),
    Column("count_b", "INTEGER", False, "number of events, or stretches of a gap, on the path of B"),
    Column("diff_count", "INTEGER", False, "how many more those of B are, below 0 fewer"),
    Column(
        "accumulated_a_ns", "INTEGER", True, "own time in A, on the path or not; null without any on it, ns"
    ),
    Column(
        "accumulated_b_ns", "INTEGER", True, "own time in B, on the path or not; null without any on it, ns"
    ),
    _MATCHED,
)
"""Columns of `path_diff`."""
PATH_INSIDE_DIFF_COLUMNS = (
    *INSIDE_COLUMNS[:2],
    Column(
        "duration_a_ns", "INTEGER", False, "time on the path of A inside it or launched from inside it, ns"
    ),
    Column("duration_b_ns", "INTEGER", False, "the same of B, ns"),
    Column("diff_ns", "INTEGER", False, "how much longer that of B is, below 0 shorter, ns"),
    Column("status", "STRING", False, "`entered` the path, `left` it, `grew`, `shrank`, or `same`"),
    _MATCHED,
)
"""Columns of `path_inside_diff`."""
TRACE_DIFF_COLUMNS = (
    Column("name", "STRING", False, "name of the events"),
    Column(
        "device", "STRING", False, "`GPU` for what runs or waits on a stream, `CPU` for what runs on a thread"
    ),
    Column("count_a", "INTEGER", False, "number of events in A"),
    Column("count_b", "INTEGER", False, "number of events in B"),
    Column("duration_a_ns", "INTEGER", False, "their durations in A as the file states them, ns"),
    Column("duration_b_ns", "INTEGER", False, "their durations in B as the file states them, ns"),
    Column("category", "STRING", False, "Kineto category; of several the one with most time"),
    Column(
        "change", "STRING", False, "`added`, `deleted`, `more`, `less`; as many: `slower`, `faster`, `same`"
    ),
    Column("diff_count", "INTEGER", False, "how many more there are in B, below 0 fewer"),
    Column("diff_ns", "INTEGER", False, "how much longer they take in B, below 0 shorter, ns"),
    Column("mean_a_ns", "FLOAT", True, "mean duration in A, null where there is none, ns"),
    Column("mean_b_ns", "FLOAT", True, "mean duration in B, null where there is none, ns"),
    _MATCHED,
)
"""Columns of `trace_diff`, `trace_diff_matched` and `trace_diff_short`."""
_SIDES = ("a", "b")
_SUMMED = {"count": "count_{}", "duration_ns": "duration_{}_ns", "accumulated_ns": "accumulated_{}_ns"}


def path_diff(
    values: Values,
    hotspots_a: pd.DataFrame,
    gaps_a: pd.DataFrame,
    steps_a: pd.DataFrame,
    hotspots_b: pd.DataFrame,
    gaps_b: pd.DataFrame,
    steps_b: pd.DataFrame,
) -> pd.DataFrame:
    """Compare the paths of A and B by name and gap, from `hotspots`, `path_gaps` and `steps`.

    The rows of each side tile its window, so their differences add up to that of the windows' lengths.
    """
    paths = (_on_path(hotspots_a, gaps_a, steps_a), _on_path(hotspots_b, gaps_b, steps_b))
    rows = _joined(*paths, "category")
    rows = _statuses(_merged(rows, matched_names(rows, "category"), "category"))
    for side in _SIDES:
        own = rows[f"accumulated_{side}_ns"]
        unknown = rows["category"].eq(GAP) | rows[f"count_{side}"].eq(0)
        rows[f"accumulated_{side}_ns"] = own.astype("Int64").mask(unknown)
    return rows.head(values[LIMIT.name])


def _on_path(hotspots: pd.DataFrame, gaps: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Combine the events and gaps of a path, with all steps as one name."""
    return steps_as_one(pd.concat([hotspots, gaps.assign(accumulated_ns=0)], ignore_index=True), steps)


def path_inside_diff(values: Values, frames_a: pd.DataFrame, frames_b: pd.DataFrame) -> pd.DataFrame:
    """Compare the time of the paths of A and B inside each name, as `path_inside`, from `path_frames`."""
    inside = [path_inside({}, frames).assign(count=1) for frames in (frames_a, frames_b)]
    rows = _joined(inside[0], inside[1], "category")
    return _statuses(_merged(rows, matched_names(rows, "category"), "category")).head(values[LIMIT.name])


def _statuses(rows: pd.DataFrame) -> pd.DataFrame:
    ways = {
        "entered": rows["duration_a_ns"].eq(0),
        "left": rows["duration_b_ns"].eq(0),
        "grew": rows["diff_ns"] > 0,
        "shrank": rows["diff_ns"] < 0,
    }
    return rows.assign(status=np.select(list(ways.values()), list(ways), "same"))


def trace_diff(values: Values, events_a: pd.DataFrame, events_b: pd.DataFrame) -> pd.DataFrame:
    """Compare events by name and device: number, time and what changed, from all of `event_sums`."""
    rows = _joined(events_a, events_b, "device")
    return _changes(_merged(rows, rows["name"], "device"), values)


def trace_diff_matched(values: Values, *rows_and_steps: pd.DataFrame) -> pd.DataFrame:
    """Compare as `trace_diff` does, from all of `event_sums` and `steps`, with all steps as one name.

    Names that only A has and names that only B has count as one if they are similar.
    """
    rows = _events_side_by_side(*rows_and_steps)
    return _changes(_merged(rows, matched_names(rows, "device"), "device"), values)


def trace_diff_short(values: Values, *rows_and_steps: pd.DataFrame) -> pd.DataFrame:
    """Compare as `trace_diff_matched` does, by short names: all similar names are one, also on one side."""
    rows = _events_side_by_side(*rows_and_steps)
    pairs = zip(rows["name"], rows["category"], strict=True)
    short = pd.Series([short_name(*pair) for pair in pairs], rows.index, object)
    return _changes(_merged(rows, short, "device"), values)


def _events_side_by_side(
    events_a: pd.DataFrame, steps_a: pd.DataFrame, events_b: pd.DataFrame, steps_b: pd.DataFrame
) -> pd.DataFrame:
    return _joined(steps_as_one(events_a, steps_a), steps_as_one(events_b, steps_b), "device")


def _joined(rows_a: pd.DataFrame, rows_b: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Put the sums of A and B side by side, by name, category and `kind`; 0 if a side has none."""
    keys = list(dict.fromkeys(["name", "category", kind]))
    sides = [_sums(rows, keys, side) for rows, side in zip((rows_a, rows_b), _SIDES, strict=True)]
    index = sides[0].index.union(sides[1].index)
    return pd.concat([side.reindex(index, fill_value=0) for side in sides], axis=1).reset_index()


def _sums(rows: pd.DataFrame, keys: list[str], side: str) -> pd.DataFrame:
    sums = rows.groupby(keys)[[name for name in _SUMMED if name in rows]].sum()
    return sums.rename(columns={name: written.format(side) for name, written in _SUMMED.items()})


def _merged(rows: pd.DataFrame, names: "pd.Series[Any]", kind: str) -> pd.DataFrame:
    """Merge the rows that share one of the `names` and a `kind`; the largest difference comes first."""
    size = -(rows["duration_a_ns"] + rows["duration_b_ns"])
    rows = rows.assign(name=names, written=rows["name"], size=size).sort_values(["size", "category"])
    numbers = [written.format(side) for written in _SUMMED.values() for side in _SIDES]
    groups = rows.groupby(["name", kind], sort=False)
    found = groups[[name for name in numbers if name in rows]].sum()
    found["category"], found["matched"] = groups["category"].first(), groups["written"].nunique() > 1
    found = found.drop(columns=kind, errors="ignore").reset_index()
    found["diff_count"] = found["count_b"] - found["count_a"]
    found["diff_ns"] = found["duration_b_ns"] - found["duration_a_ns"]
    order = found.assign(size=-found["diff_ns"].abs()).sort_values(["size", "name", kind]).index
    return found.loc[order].reset_index(drop=True)


def _changes(rows: pd.DataFrame, values: Values) -> pd.DataFrame:
    ways = {
        "added": rows["count_a"].eq(0),
        "deleted": rows["count_b"].eq(0),
        "more": rows["diff_count"] > 0,
        "less": rows["diff_count"] < 0,
        "slower": rows["diff_ns"] > 0,
        "faster": rows["diff_ns"] < 0,
    }
    rows["change"] = np.select(list(ways.values()), list(ways), "same")
    for side in _SIDES:
        count = rows[f"count_{side}"]
        rows[f"mean_{side}_ns"] = rows[f"duration_{side}_ns"] / count.where(count > 0)
    return rows.head(values[LIMIT.name])


_EVENTS = ("event_sums",)
DIFFERENCES = (
    Derived(
        "path_diff",
        "What entered, left, grew or shrank on the critical path from one run, rank or step, A, to another.",
        ("hotspots", "path_gaps", "steps"),
        PATH_DIFF_COLUMNS,
        path_diff,
        again=("hotspots", "path_gaps", "steps"),
        fixed=EVERY_ROW,
        parameters=(LIMIT,),
    ),
    Derived(
        "path_inside_diff",
        "How much longer the critical path is inside each name, from one run, rank or step, A, to another.",
        ("path_frames",),
        PATH_INSIDE_DIFF_COLUMNS,
        path_inside_diff,
        again=("path_frames",),
        parameters=(LIMIT,),
    ),
    *(
        Derived(
            shape.__name__,
            summary,
            modules,
            TRACE_DIFF_COLUMNS,
            shape,
            again=modules,
            fixed=EVERY_ROW,
            parameters=(LIMIT,),
        )
        for shape, modules, summary in (
            (
                trace_diff,
                _EVENTS,
                "Events added, deleted, slower or faster from one run, rank or step, A, to another.",
            ),
            (
                trace_diff_matched,
                (*_EVENTS, "steps"),
                "As trace_diff, with names of one side only matched where they are alike.",
            ),
            (
                trace_diff_short,
                (*_EVENTS, "steps"),
                "As trace_diff by short names: kernels without template arguments, and so on.",
            ),
        )
    ),
)
"""The queries that compare two windows."""
