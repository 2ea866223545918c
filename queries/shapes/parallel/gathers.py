"""When sharded parameters are gathered, when they are needed, and how many modules ahead (FSDP, ZeRO-3)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.frame_rows import records
from tracegraph.queries.shapes.parallel.gather_uses import Row, add_uses, module_of
from tracegraph.queries.shapes.parallel.pieces import hand_overs, pieces_of, with_phases
from tracegraph.vocabulary.collectives import FSDP, FSDP_GATHER
from tracegraph.vocabulary.kernel_types import COMPUTATION
from tracegraph.vocabulary.mechanisms import STREAM_RESUME, STREAM_WAIT_EVENT
from tracegraph.vocabulary.phases import BACKWARD, FORWARD

GATHER_VALUES = {"marks": FSDP_GATHER, "waits": f"{STREAM_WAIT_EVENT}\n{STREAM_RESUME}"}
"""What `gather_marks` and `gather_work` take for names, and for waits of streams."""
_NO_LAUNCH = "It was launched before the recording."
_NO_USE = "Neither an annotation of FSDP nor a wait of a stream tells what needs it first."
_NO_ORDER = "How many modules ahead it is cannot be told: what needs others of its step first is not known."
GATHER_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("step", "INTEGER", True, "number of the step that launched it, null where there are no steps"),
    Column("phase", "STRING", True, "phase that launched it, null where none is found"),
    Column("module", "STRING", True, "module whose parameters they are, where an annotation names it"),
    Column("bytes", "INTEGER", True, "data of it, where elements and type are known, B"),
    Column("launched_ns", "INTEGER", True, "when its launch began, null before the recording, ns"),
    Column("begins_ns", "INTEGER", False, "its start, ns"),
    Column("ends_ns", "INTEGER", False, "its end, ns"),
    Column(
        "first_use_ns", "INTEGER", True, "start of the first work that needs it, null where nothing tells, ns"
    ),
    Column("lead_ns", "INTEGER", True, "how long it began before that work could have begun, ns"),
    Column("stall_ns", "INTEGER", True, "how long that work then waited for it, ns"),
    Column(
        "modules_ahead",
        "INTEGER",
        True,
        "modules that launch computing between its launch and that work's: 0 without prefetch",
    ),
    Column("hidden_share", "FLOAT", True, "part of its time in which something computes, 0..1"),
    Column(
        "gathered_again", "BOOLEAN", True, "whether the step gathered this module before; null without names"
    ),
    Column("evidence", "STRING", True, "how the work that needs it is known: `recorded` or `inferred`"),
    Column("lacks", "STRING", True, "what cannot be told of it, and why"),
)
"""Columns of `gathers`."""


def gathers(
    _: Values, found: pd.DataFrame, marks: pd.DataFrame, work: pd.DataFrame, phases: pd.DataFrame
) -> pd.DataFrame:
    """List the gathers from the rows of `gather_work`, `gather_marks`, `layer_work` and `phases`."""
    rows: list[Row] = []
    for rank, own in found.groupby("rank", sort=True):
        mine = work[work["rank"].eq(rank)]
        named = _with_launches(own[own["on_gpu"].eq(bool(own["on_gpu"].any()))], mine)
        listed = records(with_phases(named, phases[phases["rank"].eq(rank)]))
        for row in listed:
            row["module"] = module_of(row["around"])
            row["phase"] = _phase(row["around"]) or row["phase"]
        add_uses(listed, records(marks[marks["rank"].eq(rank)]))
        _add_order(listed, _launches_of_modules(mine))
        rows += (_told(row) for row in listed)
    return pd.DataFrame(rows, columns=[column.name for column in GATHER_COLUMNS])


def _with_launches(own: pd.DataFrame, work: pd.DataFrame) -> pd.DataFrame:
    """Give gathers that a back end runs on a thread the launch of the operator that handed each over.

    A back end takes them in their order, so the n-th belongs to the n-th; if numbers differ, nothing is said.
    """
    if own["on_gpu"].any():
        return own
    handed = hand_overs(work, "all_gather")
    if len(handed) != len(own):
        return own
    own = own.sort_values("begins_ns", ignore_index=True)
    return own.assign(
        launched_ns=handed["launched_ns"].astype("Int64"),
        around=handed["around"].map(lambda names: names.split("\n") if isinstance(names, str) else []),
        step=handed["step"].astype("Int64"),
    )


def _phase(around: list[str]) -> str | None:
    """Return the phase that FSDP's annotations around a gather name, as `FSDP::backward_prefetch for 2`."""
    for name in around:
        found = next(
            (phase for phase in (BACKWARD, FORWARD) if name.startswith(FSDP) and phase in name), None
        )
        if found is not None:
            return found
    return None


def _launches_of_modules(work: pd.DataFrame) -> pd.Series:
    """Return when computing was launched that is not FSDP's own."""
    if work.empty:
        return pd.Series(dtype="int64")
    pieces = pieces_of(work)
    outside = ~pieces["around"].fillna("").str.contains(FSDP, regex=False)
    return pieces.loc[pieces["what"].eq(COMPUTATION) & outside, "launched_ns"]


def _add_order(rows: list[Row], launches: pd.Series) -> None:
    """Add how many modules computed between the launch of a gather and that of what needs it."""
    used = sorted(
        (row["use_launched_ns"], row["module"] if row["module"] is not None else f"gather {place}")
        for place, row in enumerate(rows)
        if row["use_launched_ns"] is not None
    )
    begins, modules = [at for at, _ in used], [module for _, module in used]
    # What needs these may come between the launch of another and what needs that.
    open_since: dict[Any, int] = {}
    for row in rows:
        if row["launched_ns"] is not None and row["use_launched_ns"] is None:
            open_since[row["step"]] = min(row["launched_ns"], open_since.get(row["step"], row["launched_ns"]))
    seen: set[tuple[Any, str]] = set()
    at = np.sort(launches.to_numpy("int64"))
    for row in sorted(rows, key=lambda row: (row["launched_ns"] is None, row["launched_ns"] or 0)):
        row["modules_ahead"] = row["gathered_again"] = None
        if row["module"] is not None and row["step"] is not None:
            row["gathered_again"] = (row["step"], row["module"]) in seen
            seen.add((row["step"], row["module"]))
        launched, used_ns = row["launched_ns"], row["use_launched_ns"]
        if launched is None or used_ns is None:
            continue
        if open_since.get(row["step"], used_ns) < used_ns:
            continue
        between = at[np.searchsorted(at, launched, "right") : np.searchsorted(at, used_ns, "left")]
        users = np.searchsorted(begins, between, "right") - 1
        row["modules_ahead"] = len(
            {modules[user] for user in set(users.tolist()) if user >= 0} - {row["module"]}
        )


def _told(row: Row) -> Row:
    """Add lead, stall and hidden share, and say what cannot be told."""
    length, ready = row["ends_ns"] - row["begins_ns"], row["ready_ns"]
    known = row["use_ns"] is not None
    return {
        **row,
        "module": row["module"] or None,
        "first_use_ns": row["use_ns"],
        "lead_ns": ready - row["begins_ns"] if known else None,
        "stall_ns": max(0, row["ends_ns"] - ready) if known else None,
        "hidden_share": 1 - row["exposed_ns"] / length if row["exposed_ns"] is not None and length else None,
        "lacks": " ".join(_lacks(row)) or None,
    }


def _lacks(row: Row) -> Iterator[str]:
    if row["launched_ns"] is None:
        yield _NO_LAUNCH
    if row["use_ns"] is None:
        yield _NO_USE
    elif row["launched_ns"] is not None and row["modules_ahead"] is None:
        yield _NO_ORDER
