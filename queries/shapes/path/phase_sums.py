"""The phases of a run by name: their lengths, and the parts of their critical paths."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.path.unclear_time import unclear_parts
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.phases import PHASE_NAMES

PHASE_COLUMNS = (
    Column("phase", "STRING", False, "name of the phase"),
    Column("count", "INTEGER", False, "number of phases of that name, in all steps of all ranks"),
    Column("evidence", "STRING", False, "`recorded` where annotations name all of them, else `inferred`"),
    Column("confidence", "FLOAT", False, "how sure the least sure of them is, 0..1"),
    Column("mean_ns", "FLOAT", False, "mean length on their thread, ns"),
    Column("min_ns", "INTEGER", False, "least length on their thread, ns"),
    Column("max_ns", "INTEGER", False, "most length on their thread, ns"),
    Column("deviation_ns", "INTEGER", True, "standard deviation of their lengths, null of a single one, ns"),
    Column(
        "step_deviation_ns",
        "INTEGER",
        True,
        "that of the mean lengths in each step, null of a single step, ns",
    ),
    Column(
        "rank_deviation_ns",
        "INTEGER",
        True,
        "that of the mean lengths on each rank, null of a single rank, ns",
    ),
    Column("mean_window_ns", "FLOAT", False, "mean length until the GPU work launched in it ends, too, ns"),
    Column("gpu_share", "FLOAT", True, "share of their paths in events on a GPU, 0..1"),
    Column("cpu_share", "FLOAT", True, "share of their paths in events on threads, 0..1"),
    Column("gap_share", "FLOAT", True, "share of their paths in gaps, 0..1"),
    Column(
        "unclear_share", "FLOAT", True, "share of their paths that is unknown or untraced in any way, 0..1"
    ),
    Column("hotspot", "STRING", True, "name of the event that takes most of their paths, null without one"),
    Column("hotspot_share", "FLOAT", True, "its share of their paths, 0..1"),
)
"""Columns of `phase_paths`."""


def phase_paths(_: Mapping[str, Any], phases: pd.DataFrame, hotspots: pd.DataFrame) -> pd.DataFrame:
    """Sum up each phase in one row, in the order of a step, from `phases` and `phase_hotspots`.

    Phases whose window no work ends have lengths but no share in the paths. Of several micro-batches in a
    step their mean counts: how they differ among themselves shows in `deviation_ns` alone.
    """
    length = phases["end_ns"] - phases["start_ns"]
    rows = phases.assign(
        length=length,
        window=phases["window_end_ns"] - phases["start_ns"],
        inferred=phases["evidence"].eq("inferred"),
    )
    found = rows.groupby("phase").agg(
        count=("phase", "size"),
        inferred=("inferred", "any"),
        confidence=("confidence", "min"),
        mean_ns=("length", "mean"),
        min_ns=("length", "min"),
        max_ns=("length", "max"),
        mean_window_ns=("window", "mean"),
        deviation_ns=("length", "std"),
    )
    for over in ("step", "rank"):
        means = rows.groupby(["phase", over])["length"].mean()
        found[f"{over}_deviation_ns"] = means.groupby("phase").std()
    for name in ("deviation_ns", "step_deviation_ns", "rank_deviation_ns"):
        found[name] = found[name].round().astype("Int64")
    found["evidence"] = found.pop("inferred").map({True: "inferred", False: "recorded"})
    found = found.join(_shares(hotspots), how="left")
    order = [name for name in PHASE_NAMES if name in found.index]
    return found.loc[order].rename_axis("phase").reset_index()


def _shares(hotspots: pd.DataFrame) -> pd.DataFrame:
    gap = hotspots["category"].eq(GAP)
    parts = {
        "gpu_share": hotspots["on_gpu"] & ~gap,
        "cpu_share": ~hotspots["on_gpu"] & ~gap,
        "gap_share": gap,
        "unclear_share": unclear_parts(hotspots["name"], hotspots["category"], gap)["unclear_share"],
    }
    total = hotspots.groupby("phase")["duration_ns"].sum()
    spent = pd.DataFrame({name: hotspots["duration_ns"].where(chosen, 0) for name, chosen in parts.items()})
    shares = spent.groupby(hotspots["phase"]).sum().div(total, axis=0)
    named = hotspots[~gap].groupby(["phase", "name"])["duration_ns"].sum().reset_index()
    largest = named.sort_values(["duration_ns", "name"], ascending=[False, True]).groupby("phase").first()
    shares["hotspot"] = largest["name"]
    shares["hotspot_share"] = largest["duration_ns"] / total
    return shares
