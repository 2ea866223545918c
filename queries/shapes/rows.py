"""Rows made from a module's rows: the path in time order, steps compared, sums by category or name.

These are pure functions from the frames of Cypher modules (and the parameters that these were asked with) to
a frame. `DERIVED` lists those that are queries of their own.
"""

from itertools import chain as joined
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Derived, Values
from tracegraph.queries.shapes.differences import DIFFERENCES
from tracegraph.queries.shapes.gpu.busy import BUSY_COLUMNS, gpu_busy
from tracegraph.queries.shapes.gpu.queries import IDLE_TIME
from tracegraph.queries.shapes.gpu.roofline import ROOFLINE_COLUMNS, roofline
from tracegraph.queries.shapes.inside import INSIDE_COLUMNS, path_inside
from tracegraph.queries.shapes.lateness import LATE_COLUMNS, late_causes
from tracegraph.queries.shapes.links.queries import LINK_USE
from tracegraph.queries.shapes.outline import OUTLINE_COLUMNS, path_outline
from tracegraph.queries.shapes.parallel.queries import PARALLEL
from tracegraph.queries.shapes.peak.queries import PEAK_USE
from tracegraph.queries.shapes.phase_sums import PHASE_COLUMNS, phase_paths
from tracegraph.queries.shapes.replay_rows import (
    BOUND_COLUMNS,
    FIX_COLUMNS,
    OPERATION_STRAGGLER_COLUMNS,
    RUN_COLUMNS,
    bound_rows,
    fix_rows,
    run_rows,
    straggler_rows,
)
from tracegraph.queries.shapes.series import (
    ABOUT_COLUMNS,
    BANDWIDTH_COLUMNS,
    QUEUE_COLUMNS,
    events_about,
    memory_bandwidth_series,
    queue_length_series,
)
from tracegraph.queries.shapes.stragglers import STRAGGLER_COLUMNS, potential_stragglers
from tracegraph.queries.shapes.transfers.queries import TRANSFERS
from tracegraph.queries.shapes.unclear_time import unclear_parts
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.step_names import counted_as

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
STEP_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("number", "INTEGER", False, "number of the step"),
    Column("start_ns", "INTEGER", False, "start of the step's annotation, ns"),
    Column("end_ns", "INTEGER", False, "later of its end and the end of the GPU work launched in it, ns"),
    Column("length_ns", "INTEGER", False, "length of the step, which its path tiles, ns"),
    Column("gpu_share", "FLOAT", True, "share of the path in events on a GPU, 0..1"),
    Column("cpu_share", "FLOAT", True, "share of the path in events on threads, 0..1"),
    Column("gap_share", "FLOAT", True, "share of the path in gaps, 0..1"),
    Column("unknown_share", "FLOAT", True, "share of the path in gaps that no rule explains, 0..1"),
    Column("untraced_share", "FLOAT", True, "share of the path in self time of annotations, 0..1"),
    Column("inferred_share", "FLOAT", True, "share of the path that starts by an inferred dependency, 0..1"),
    Column("hotspot", "STRING", True, "name of the event that takes most of the path, null without one"),
    Column("hotspot_share", "FLOAT", True, "its share of the path, 0..1"),
    Column("outlier", "BOOLEAN", False, "whether |length - median| > 3 * 1.4826 * MAD, with a MAD above 0"),
    Column(
        "typical",
        "BOOLEAN",
        False,
        "whether its length is the nearest to the median of its rank's steps of its type",
    ),
    Column("untraced_cpu_share", "FLOAT", True, "share of the path with no event open on its thread, 0..1"),
    Column("unclear_share", "FLOAT", True, "share of the path that is unknown or untraced in any way, 0..1"),
    Column("type", "STRING", True, "of an iteration of a server: prefill, decode, mixed or idle"),
    Column("batch", "INTEGER", True, "requests of the iteration, where its name says it"),
    Column("tokens", "INTEGER", True, "new tokens of the iteration, where its name says it"),
)
"""Columns of `step_paths`; median and MAD are those of the steps of one type on one rank."""
RECURRING_COLUMNS = (
    Column("name", "STRING", False, "name of the events, or of the gap"),
    Column("category", "STRING", False, "Kineto category, or `gap`"),
    Column("steps", "INTEGER", False, "number of steps that have it on their path"),
    Column("step_share", "FLOAT", False, "share of all steps, 0..1"),
    Column("mean_ns", "FLOAT", False, "mean time on the path, over all steps, ns"),
    Column("std_ns", "FLOAT", False, "standard deviation of that time over all steps, ns"),
    Column("min_ns", "INTEGER", False, "least time on the path of a step, 0 where a step is without it, ns"),
    Column("max_ns", "INTEGER", False, "most time on the path of a step, ns"),
    Column("mean_share", "FLOAT", False, "mean share of the step, over all steps, 0..1"),
)
"""Columns of `recurring_hotspots`."""
_MAD_TO_SIGMA = 1.4826
"""The standard deviation of a normal distribution divided by its median absolute deviation."""
_OUTLIER_SIGMAS = 3.0
"""A step is an outlier if its length is further from the median than this number of spreads. Of normally
distributed steps 3 in 1,000 are further; at 2 spreads one in 22 would be."""


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

    source_index is null for a gap, and margin_ns if there is no second cause.
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


def with_steps_merged(sums: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Merge the annotations of all steps in `hotspots` under the name of their marker, largest first.

    `sums` are all rows of `hotspots`, `steps` the rows of `steps`.
    """
    counted = _counted_as(sums["name"], steps)
    if len(counted) < 2:
        return sums
    keys = ["name", "category"]
    groups = sums.assign(name=sums["name"].map(lambda name: counted.get(name, name))).groupby(
        keys, as_index=False
    )
    added = ["duration_ns", "proportion", "prop_in_total", "count", "accumulated_ns"]
    merged = groups.agg({**dict.fromkeys(added, "sum"), "accumulated_place": "min"})
    rows = merged.sort_values(["duration_ns", *keys], ascending=[False, True, True], ignore_index=True)
    return rows[list(sums.columns)].astype(dict.fromkeys(keys, object))


def _counted_as(names: "pd.Series[Any]", steps: pd.DataFrame) -> dict[str, str]:
    """Map each name that marks a step to the one name under which all steps are counted."""
    return counted_as(names.unique(), zip(steps["name"], steps["marker"], strict=True))


def largest(sums: pd.DataFrame, limit: int) -> pd.DataFrame:
    """Return the first rows of `hotspots` or `path_gaps`, with their `proportion` of the listed ones."""
    rows = sums.head(limit)
    return rows.assign(proportion=rows["duration_ns"] / max(1, int(rows["duration_ns"].sum())))


def sum_by(rows: pd.DataFrame, column: str) -> dict[str, int]:
    """Sum the time of the rows of a path for each value of a column, in ns, longest first, then by value."""
    lengths = pd.DataFrame({"key": rows[column], "length": rows["end_ns"] - rows["start_ns"]})
    return _ordered(lengths.groupby("key", observed=True)["length"].sum())


def _ordered(sums: "pd.Series[int]") -> dict[str, int]:
    found = {str(key): int(value) for key, value in sums.items()}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def step_paths(_: Values, listed: pd.DataFrame, hotspots: pd.DataFrame) -> pd.DataFrame:
    """Describe each step in a row, by rank and start, from `steps` and `step_hotspots`.

    A step whose window no work ends has a length but no shares.
    """
    said = ["type", "batch", "tokens"]
    rows = listed.assign(end_ns=listed["window_end_ns"])
    rows = rows.reindex(columns=["rank", "number", "start_ns", "end_ns", *said])
    rows["length_ns"] = rows["end_ns"] - rows["start_ns"]
    gap = hotspots["category"].eq(GAP)
    parts = {
        "gpu_share": hotspots["on_gpu"] & ~gap,
        "cpu_share": ~hotspots["on_gpu"] & ~gap,
        "gap_share": gap,
        **unclear_parts(hotspots["name"], hotspots["category"], gap),
    }
    spent = pd.DataFrame({name: hotspots["duration_ns"].where(mask, 0) for name, mask in parts.items()})
    spent["inferred_share"] = hotspots["inferred_ns"]
    keys = [hotspots["rank"], hotspots["number"]]
    totals = spent.groupby(keys, sort=False).sum()
    named = hotspots[~gap].groupby(["rank", "number", "name"], sort=False)["duration_ns"].sum().reset_index()
    largest = named.sort_values(["duration_ns", "name"], ascending=[False, True])
    first = largest.groupby(["rank", "number"], sort=False).first()
    found = pd.MultiIndex.from_frame(rows[["rank", "number"]])
    length = rows["length_ns"].clip(lower=1).to_numpy()
    for name in spent.columns:
        rows[name] = totals[name].reindex(found).to_numpy(dtype="float64") / length
    names = first["name"].reindex(found).astype(object)
    rows["hotspot"] = names.where(names.notna(), None).to_numpy()
    rows["hotspot_share"] = first["duration_ns"].reindex(found).to_numpy(dtype="float64") / length
    rows = rows[[*rows.columns.drop(said), *said]]
    return _compare(rows, by=_alike(rows))


def job_steps(rows: pd.DataFrame) -> pd.DataFrame:
    """Select the steps of a job from `step_paths`: each on the rank that ends it last, compared again."""
    if rows.empty or rows["rank"].nunique() < 2:
        return rows
    last = rows.sort_values(["end_ns", "rank"], ascending=[False, True]).drop_duplicates("number")
    last = last.sort_values(["start_ns", "number"], ignore_index=True)
    return _compare(last, by=_alike(last.assign(rank=0)))


def _alike(rows: pd.DataFrame) -> "pd.Series[int]":
    """Give each step the number of its group: those of one type on one rank can be compared."""
    return rows.groupby(["rank", "type"], dropna=False, sort=False).ngroup()


def _compare(rows: pd.DataFrame, by: "pd.Series[int]") -> pd.DataFrame:
    """Add `outlier` and `typical`: how the length of a step compares with the median of its group in `by`."""
    lengths = rows.groupby(by)["length_ns"]
    distance = (rows["length_ns"] - lengths.transform("median")).abs()
    spread = by.map(lengths.apply(spread_of)).astype("float64")
    typical = rows.index.isin(distance.groupby(by).idxmin())
    return rows.assign(outlier=(distance > _OUTLIER_SIGMAS * spread) & (spread > 0), typical=typical)


def spread_of(lengths: "pd.Series[int]") -> float:
    """Return 1.4826 * MAD, the standard deviation if the lengths were normal; outliers hardly change it."""
    return float(_MAD_TO_SIGMA * (lengths - lengths.median()).abs().median())


def recurring_hotspots(_: Values, hotspots: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Sum events and gaps by name over all steps of all ranks, largest mean first.

    The rows are those of `step_hotspots` and `steps`. Annotations of steps count as one name, that of their
    marker, although each has its own number.
    """
    step = [hotspots["rank"], hotspots["number"]]
    length = hotspots.groupby(step)["duration_ns"].transform("sum")
    counted = _counted_as(hotspots["name"], steps)
    parts = hotspots.assign(
        name=hotspots["name"].map(lambda name: counted.get(name, name)),
        share=hotspots["duration_ns"] / length,
    )
    keys = ["name", "category", "rank", "number"]
    each = parts.groupby(keys, as_index=False)[["duration_ns", "share"]].sum()
    count = max(1, len(hotspots.groupby(step)))
    groups = each.groupby(["name", "category"])
    rows = groups.agg(
        steps=("number", "size"),
        mean_ns=("duration_ns", lambda spent: float(spent.sum()) / count),
        std_ns=("duration_ns", lambda spent: _deviation(spent, count)),
        min_ns=("duration_ns", "min"),
        max_ns=("duration_ns", "max"),
        mean_share=("share", lambda share: float(share.sum()) / count),
    ).reset_index()
    rows["min_ns"] = rows["min_ns"].where(rows["steps"] == count, 0)
    rows["step_share"] = rows["steps"] / count
    rows = rows.sort_values(["mean_ns", "name", "category"], ascending=[False, True, True])
    return rows.reset_index(drop=True)


def _deviation(spent: "pd.Series[int]", count: int) -> float:
    """Return the standard deviation over `count` steps, of which those without a value spent 0."""
    mean = float(spent.sum()) / count
    return float(np.sqrt((((spent - mean) ** 2).sum() + (count - len(spent)) * mean**2) / count))


DERIVED = (
    Derived(
        "path_inside",
        "How much of a window's critical path runs inside each name, or was launched from inside it.",
        ("path_frames",),
        INSIDE_COLUMNS,
        path_inside,
    ),
    Derived(
        "potential_stragglers",
        "The ranks that others wait for in collectives, those first that set the pace of most steps.",
        ("rank_waits", "step_waits"),
        STRAGGLER_COLUMNS,
        potential_stragglers,
    ),
    Derived(
        "late_causes",
        "What makes a rank late: what it does more of than the middle rank, as far as that is on the path.",
        ("rank_waits", "rank_work", "rank_gaps", "path_frames", "steps"),
        LATE_COLUMNS,
        late_causes,
    ),
    Derived(
        "path_outline",
        "Where in my code a window's critical path runs: the call stacks that hold most of it.",
        ("path_frames",),
        OUTLINE_COLUMNS,
        path_outline,
    ),
    Derived(
        "critical_path",
        "The rows of a window's critical path in time order: events and named gaps that tile it.",
        ("path_segments", "lanes"),
        PATH_COLUMNS,
        path_rows,
    ),
    Derived(
        "step_paths",
        "The critical path of every step in one row: length, composition, outliers.",
        ("steps", "step_hotspots"),
        STEP_COLUMNS,
        step_paths,
    ),
    Derived(
        "phase_paths",
        "The phases of all steps by name: how long they are, and what their critical paths are made of.",
        ("phases", "phase_hotspots"),
        PHASE_COLUMNS,
        phase_paths,
    ),
    Derived(
        "recurring_hotspots",
        "What recurs on the critical paths of the steps: events and gaps by name.",
        ("step_hotspots", "steps"),
        RECURRING_COLUMNS,
        recurring_hotspots,
    ),
    Derived(
        "roofline",
        "How near each operator comes to what its device can do: FLOPs a byte, FLOP/s, and what bounds it.",
        ("operator_work", "counted_work", "traces"),
        ROOFLINE_COLUMNS,
        roofline,
    ),
    Derived(
        "gpu_busy",
        "How each GPU spends a window: computing, moving data, waiting for other ranks, or idle.",
        ("gpu_work_times",),
        BUSY_COLUMNS,
        gpu_busy,
    ),
    Derived(
        "events_about",
        "Where events run in a window whose names begin in one of several ways, and GPU work of one type.",
        ("times_about",),
        ABOUT_COLUMNS,
        events_about,
    ),
    Derived(
        "queue_length_series",
        "How much work is queued on each stream over time: launched and not begun, a row a change.",
        ("queue_points",),
        QUEUE_COLUMNS,
        queue_length_series,
    ),
    Derived(
        "memory_bandwidth_series",
        "The bandwidth of copies and memsets over time, by kind, a row a change.",
        ("bandwidth_points",),
        BANDWIDTH_COLUMNS,
        memory_bandwidth_series,
    ),
    Derived(
        "runs",
        "All runs of the workspace, newest first.",
        ("stored_runs",),
        RUN_COLUMNS,
        run_rows,
    ),
    Derived(
        "bounds",
        "What bounds a run: its length where each resource takes no time, alone, and what no schedule beats.",
        ("run_details",),
        BOUND_COLUMNS,
        bound_rows,
    ),
    Derived(
        "fixes",
        "What could be done about a run: the fixes that it shows, and what each of them gains.",
        ("run_details",),
        FIX_COLUMNS,
        fix_rows,
    ),
    Derived(
        "operation_stragglers",
        "How much slower a step is since operations of a type differ, by type, dp rank, stage and worker.",
        ("run_details",),
        OPERATION_STRAGGLER_COLUMNS,
        straggler_rows,
    ),
    *IDLE_TIME,
    *PEAK_USE,
    *LINK_USE,
    *TRANSFERS,
    *PARALLEL,
    *DIFFERENCES,
)
