"""What the threads wait for, on the critical path or not."""

from collections.abc import Mapping, Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words
from tracegraph.workbench.sections.section import PATH, Parameters, Scope, Section

_ROWS, _LEAST_PART = 20, 100
"""How many waits are listed, and by which part of the window (1 %) a wait counts."""
_COLUMNS = (
    Column("lane_name", "thread"),
    Column("name", "name"),
    Column("duration_ns", "duration", "duration"),
    Column("share", "share", "share"),
    Column("count", "count", "count"),
)
_AXES = (Column("lane_name", "thread"), Column("duration_ns", "waiting", "duration"))
_TOLD = (Column("share", "share", "share"), Column("count", "count", "count"))


def _content(findings: Findings) -> Sequence[Block]:
    if findings.waits.empty:
        return [Words("no thread is known to wait for 1 % of the window or more for the same reason")]
    caption = "Of each thread, on the critical path or not, from 1 % of the window:"
    plot = Plot(
        "Waiting of each thread", findings.waits, "bars", *_AXES, colour="name", told=_TOLD, across=True
    )
    return [plot, Table(findings.waits, _COLUMNS, caption)]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    least_ns = scope.length_ns // _LEAST_PART
    return {"lane_waits": {**scope.between, "least_ns": least_ns, "limit": _ROWS}}


SECTION = Section(100, "Waiting", _content, _asks, group=PATH)
