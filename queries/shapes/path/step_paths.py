"""The steps of a run, a row each: how long they are, what their paths are made of, which are unusual."""

import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.path.unclear_time import unclear_parts
from tracegraph.vocabulary.categories import GAP

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
_MAD_TO_SIGMA = 1.4826
"""The standard deviation of a normal distribution divided by its median absolute deviation."""
_OUTLIER_SIGMAS = 3.0
"""A step is an outlier if its length is further from the median than this number of spreads. Of normally
distributed steps 3 in 1,000 are further; at 2 spreads one in 22 would be."""


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
