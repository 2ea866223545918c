"""The critical path of every profiler step, and what recurs on it from step to step."""

import numpy as np
import pandas as pd

from tracegraph.queries.inventory import steps
from tracegraph.queries.module import Column, load
from tracegraph.queries.unclear import unclear_parts
from tracegraph.store.categories import GAP
from tracegraph.store.connection import Database
from tracegraph.store.step_names import STEP_PREFIX

STEP_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("number", "INTEGER", False, "the number in ProfilerStep#N"),
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
    Column("typical", "BOOLEAN", False, "whether it is the step whose length is nearest to the median"),
    Column("untraced_cpu_share", "FLOAT", True, "share of the path with no event open on its thread, 0..1"),
    Column("unclear_share", "FLOAT", True, "share of the path that is unknown or untraced in any way, 0..1"),
)
"""Columns of `step_paths`."""
STEP_SUMMARY = "The critical path of every profiler step in one row: length, composition, outliers."
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
RECURRING_SUMMARY = "What recurs on the critical paths of the profiler steps: events and gaps by name."
_MAD_TO_SIGMA = 1.4826
_OUTLIER_SIGMAS = 3.0


def step_hotspots(database: Database, run: str) -> pd.DataFrame:
    """Every step's path by name: rank, number, name, category, on_gpu, duration_ns, inferred_ns.

    The durations of a step sum to its length; the names of its annotations have their step number.
    """
    return load("step_hotspots").run(database, run=run)


def step_paths(database: Database, run: str) -> pd.DataFrame:
    """One row a step by rank and start, with the columns STEP_COLUMNS; no row without a ProfilerStep."""
    return describe_steps(steps(database, run), step_hotspots(database, run))


def recurring_hotspots(database: Database, run: str) -> pd.DataFrame:
    """Events and gaps by name over all steps, largest mean first, with the columns RECURRING_COLUMNS."""
    return find_recurring(step_hotspots(database, run))


def describe_steps(listed: pd.DataFrame, hotspots: pd.DataFrame) -> pd.DataFrame:
    """Return `step_paths` from the results of `steps` and `step_hotspots`.

    A step whose window no work ends has a length but no shares.
    """
    rows = listed.assign(end_ns=listed["window_end_ns"])[["rank", "number", "start_ns", "end_ns"]]
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
    return _compare(rows)[[column.name for column in STEP_COLUMNS]]


def spread_of(lengths: "pd.Series[int]") -> float:
    """Return 1.4826 * MAD, the standard deviation if the lengths were normal; outliers hardly change it."""
    return float(_MAD_TO_SIGMA * (lengths - lengths.median()).abs().median())


def _compare(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the steps with what their length is against the median: `outlier`, `typical`."""
    distance = (rows["length_ns"] - rows["length_ns"].median()).abs()
    spread = spread_of(rows["length_ns"])
    typical = np.zeros(len(rows), dtype=bool)
    if len(rows):
        typical[int(distance.to_numpy().argmin())] = True
    return rows.assign(outlier=(distance > _OUTLIER_SIGMAS * spread) & (spread > 0), typical=typical)


def find_recurring(hotspots: pd.DataFrame) -> pd.DataFrame:
    """Return `recurring_hotspots` from the result of `step_hotspots`.

    Annotations of steps count as one name, `ProfilerStep#`, although each has its own number.
    """
    step = [hotspots["rank"], hotspots["number"]]
    length = hotspots.groupby(step)["duration_ns"].transform("sum")
    numbered = hotspots["name"].str.startswith(STEP_PREFIX)
    parts = hotspots.assign(
        name=hotspots["name"].mask(numbered, STEP_PREFIX), share=hotspots["duration_ns"] / length
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
    return rows[[column.name for column in RECURRING_COLUMNS]].reset_index(drop=True)


def _deviation(spent: "pd.Series[int]", count: int) -> float:
    """Standard deviation over `count` steps of which those without a value spent 0."""
    mean = float(spent.sum()) / count
    return float(np.sqrt((((spent - mean) ** 2).sum() + (count - len(spent)) * mean**2) / count))
