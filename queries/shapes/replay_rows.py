"""Results of the replays that were made when a run was stored: what bounds it, and possible fixes."""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracegraph.queries.module import Column

RESOURCE, FLOOR = "resource", "floor"
RUN_COLUMNS = (
    Column("name", "STRING", False, "name of the run"),
    Column("state", "STRING", False, "`loading` until everything is stored, then `ready`"),
    Column("created", "STRING", True, "when it was ingested, ISO 8601, UTC"),
    Column("ranks", "INTEGER", True, "number of ranks"),
    Column("events", "INTEGER", True, "number of events"),
    Column("nodes", "INTEGER", True, "number of nodes"),
    Column("duration_ns", "INTEGER", True, "length of the window, ns"),
    Column("scenario_of", "STRING", True, "of a scenario, the run that it is a change of"),
    Column(
        "bounded_by",
        "STRING",
        True,
        "the resource without which it is shortest, or each that gains about as much; null if none does",
    ),
)
"""Columns of `runs`."""
BOUND_COLUMNS = (
    Column(
        "kind", "STRING", False, f"`{RESOURCE}`: taking no time, alone; `{FLOOR}`: no schedule is shorter"
    ),
    Column("name", "STRING", False, "the resource, or what the floor is"),
    Column("length_ns", "INTEGER", False, "length of the run then, or of the floor, ns"),
    Column("gain_ns", "INTEGER", True, "by how much the run is shorter, null of a floor, ns"),
    Column("share", "FLOAT", True, "that as a share of the run, null of a floor, 0..1"),
    Column("bounds", "BOOLEAN", False, "whether it is the bottleneck, or one of several"),
    Column(
        "place", "STRING", True, "of a bottleneck, where in the code most of its time is, if that is recorded"
    ),
    Column("place_share", "FLOAT", True, "how much of its time, 0..1"),
)
"""Columns of `bounds`."""
FIX_COLUMNS = (
    Column("fix", "STRING", False, "name of the fix"),
    Column("title", "STRING", False, "what to do"),
    Column("selector", "STRING", False, "what it is made in"),
    Column(
        "gain_ns", "INTEGER", False, "by how much the run is shorter, corrected for what recording cost, ns"
    ),
    Column("low_ns", "INTEGER", False, "the least that is likely, ns"),
    Column("high_ns", "INTEGER", False, "the most that is likely, ns"),
    Column("speedup", "FLOAT", True, "how many times as fast the run is, null where nothing is left of it"),
    Column("inferred_share", "FLOAT", False, "of the gain, how much hangs on inferred dependencies, 0..1"),
    Column("evidence", "STRING", False, "what shows it"),
    Column("how", "STRING", False, "how to do it"),
    Column("command", "STRING", False, "the command that predicts it"),
    Column("assumptions", "STRING", False, "what is taken for granted, joined by `; `"),
    Column(
        "with_first_ns",
        "INTEGER",
        True,
        "what it gains together with the first, null of the first and of one made instead of it, ns",
    ),
)
"""Columns of `fixes`."""

OPERATION_STRAGGLER_COLUMNS = (
    Column("level", "STRING", False, "what the group is: `job`, `optype`, `dp_rank`, `stage` or `worker`"),
    Column("group", "STRING", False, "its type, data-parallel rank, stage, or rank; `all` for the job"),
    Column("dp_rank", "INTEGER", True, "of a worker, its data-parallel rank"),
    Column("stage", "INTEGER", True, "of a worker, its stage"),
    Column(
        "slowdown",
        "FLOAT",
        False,
        "length of a step where this group alone keeps its own times, by that where all are ideal: S",
    ),
    Column(
        "gain_ns",
        "INTEGER",
        True,
        "by how much a step is shorter where this group alone takes ideal times; null of lesser workers, ns",
    ),
    Column("share", "FLOAT", True, "that as a share of what is lost to stragglers: below 0 or above 1 too"),
)
"""Columns of `operation_stragglers`."""


def run_rows(_: Mapping[str, Any], stored: pd.DataFrame) -> pd.DataFrame:
    """List the runs, the newest first, each with what bounds it: null for an older run, too."""
    told = [json.loads(texts[0])["bottlenecks"] if texts else [] for texts in stored["bounds"]]
    named = pd.Series([", ".join(names) or None for names in told], stored.index, dtype=object)
    return stored.drop(columns="bounds").assign(bounded_by=named)


def bound_rows(_: Mapping[str, Any], details: pd.DataFrame) -> pd.DataFrame:
    """List resources, the largest gain first, then floors, the longest first; an older run has none."""
    told = json.loads(_said(details, "bounds") or "{}")
    places = {row["resource"]: row for row in told.get("places", [])}
    rows = [
        {
            **{name: row[name] for name in ("length_ns", "gain_ns", "share")},
            "kind": RESOURCE,
            "name": row["resource"],
            "bounds": row["resource"] in told["bottlenecks"],
            "place": places.get(row["resource"], {}).get("place"),
            "place_share": places.get(row["resource"], {}).get("share"),
        }
        for row in told.get("resources", [])
    ]
    rows += [
        {
            "kind": FLOOR,
            "name": f"{row['floor']}: {row['name']}",
            "length_ns": row["length_ns"],
            "gain_ns": None,
            "share": None,
            "bounds": False,
        }
        for row in told.get("floors", [])
    ]
    return _frame(rows, BOUND_COLUMNS)


def fix_rows(_: Mapping[str, Any], details: pd.DataFrame) -> pd.DataFrame:
    """List the fixes that a run shows, the largest gain first; an older run has none."""
    told = json.loads(_said(details, "fixes") or "[]")
    return _frame([{**row, "assumptions": "; ".join(row["assumptions"])} for row in told], FIX_COLUMNS)


def straggler_rows(_: Mapping[str, Any], details: pd.DataFrame) -> pd.DataFrame:
    """List the job, then groups of operations, the slowest of each level first; none without a log."""
    told = json.loads(_said(details, "stragglers") or "{}")
    frame = _frame(told.get("rows", []), OPERATION_STRAGGLER_COLUMNS)
    levels = {level: place for place, level in enumerate(dict.fromkeys(frame["level"]))}
    order = pd.DataFrame({"level": frame["level"].map(levels), "slow": -frame["slowdown"]})
    return frame.loc[order.sort_values(["level", "slow"], kind="stable").index].reset_index(drop=True)


def _said(details: pd.DataFrame, name: str) -> str | None:
    values = details[name].tolist()
    return values[0] if values and isinstance(values[0], str) else None


def _frame(rows: list[dict[str, Any]], columns: tuple[Column, ...]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=[column.name for column in columns])
    integers = {column.name: "Int64" for column in columns if column.type == "INTEGER"}
    return frame.astype({**integers, **{one.name: "float64" for one in columns if one.type == "FLOAT"}})
