"""The ranks compared: who waited, who made others wait, and whose work the critical path is."""

from collections.abc import Mapping, Sequence

import pandas as pd

from tracegraph.queries.shapes.path.sums import sum_by
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table
from tracegraph.workbench.sections.section import OTHERS, Parameters, Scope, Section

_COLUMNS = (
    Column("rank", "rank", "number"),
    Column("path_share", "of the path", "share"),
    Column("last", "last to", "count"),
    Column("operations", "operations", "count", roomy=True),
    Column("caused_ns", "made wait", "duration"),
    Column("caused_share", "of all waiting", "share"),
    Column("longest_ns", "at once", "duration"),
    Column("waited_ns", "waited", "duration"),
    Column("exposed_wait_ns", "not hidden", "duration", roomy=True),
    Column("exposed_transfer_ns", "transfer not hidden", "duration"),
)
_LATE = (
    Column("rank", "rank", "number"),
    Column("late_ns", "late by", "duration"),
    Column("name", "name", "name"),
    Column("inside", "inside", "name", roomy=True),
    Column("duration_ns", "on this rank", "duration"),
    Column("middle_ns", "on the middle one", "duration"),
    Column("on_path_ns", "on the path", "duration", roomy=True),
)
_STEPS = (
    Column("number", "step", "number"),
    Column("length_ns", "length", "duration"),
    Column("rank", "waited for rank", "number"),
    Column("caused_ns", "made wait", "duration"),
    Column("caused_share", "of all waiting", "share"),
    Column("last", "last to", "count"),
)
_MOST_CAUSES, _MOST_STEPS = 10, 20
"""How many causes and how many steps the tables list."""
_TOLD = (Column("caused_share", "of all waiting", "share"), Column("last", "last to", "count"))


def _content(findings: Findings) -> Sequence[Block]:
    rows = _rows(findings)
    if findings.details.ranks < 2 or rows.empty:
        return []
    named = rows.assign(_rank=[f"rank {rank}" for rank in rows["rank"]])
    axes = Column("_rank", "rank"), Column("caused_ns", "waited for it", "duration")
    plot = Plot("How long the others waited for each rank", named, "bars", *axes, told=_TOLD, across=True)
    note = "What a rank made the others wait counts each of them."
    late = findings.answers["late_causes"].head(_MOST_CAUSES)
    caption = "What ranks that made others wait have more of than the middle rank, on the critical path:"
    return [
        Table(rows, _COLUMNS, note=note),
        plot,
        *([] if late.empty else [Table(late, _LATE, caption)]),
        *_by_step(findings),
    ]


def _by_step(findings: Findings) -> Sequence[Block]:
    """Find for each step the rank that made the others wait most."""
    steps = findings.answers.get("step_waits", pd.DataFrame())
    if steps.empty:
        return []
    length = steps.groupby("number")["length_ns"].max()
    first = steps[steps["caused_ns"] > 0].drop_duplicates("number").head(_MOST_STEPS)
    first = first.assign(length_ns=first["number"].map(length))
    caption = "Which rank made the others wait most, step by step (why: --step N):"
    return [] if first.empty else [Table(first, _STEPS, caption)]


def _rows(findings: Findings) -> pd.DataFrame:
    """Add to the rows of `rank_waits` the share of the path on each rank, and sort them by rank."""
    rows = findings.answers.get("rank_waits", pd.DataFrame({"rank": []}))
    on_path = {int(rank): findings.share(ns) for rank, ns in sum_by(findings.path, "rank").items()}
    return rows.assign(path_share=[on_path.get(rank, 0.0) for rank in rows["rank"]]).sort_values("rank")


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return {"rank_waits": scope.between, "late_causes": scope.walked} if scope.ranks > 1 else {}


SECTION = Section(35, "Ranks compared", _content, _asks, group=OTHERS)
