"""The events that take most of the path."""

from collections.abc import Mapping, Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import PATH, Parameters, Scope, Section

MOST = 1_000_000
"""A limit for rows that leaves none out."""
LISTED = (
    Column("name", "name", "name"),
    Column("category", "category"),
    Column("duration_ns", "duration", "duration"),
    Column("proportion", "proportion", "share"),
    Column("prop_in_total", "prop_in_total", "share"),
    Column("count", "count", "count"),
)
NOTE = "proportion: share of the rows listed; prop_in_total: share of the path."
_ALL_TIME = (
    Column("accumulated_ns", "accumulated", "duration", roomy=True),
    Column("accumulated_place", "place", "count", roomy=True),
)
_ALL_TIME_NOTE = "accumulated: all own time of that name, on the path or not; place: by it, 1 the largest."


def _title(findings: Findings) -> str:
    count = len(findings.hotspots)
    return f"Hotspots on the critical path (the {'largest' if count == 1 else f'{count} largest'})"


def _content(findings: Findings) -> Sequence[Block]:
    if findings.hotspots.empty:
        return [Words("none")]
    return [Table(findings.hotspots, (*LISTED, *_ALL_TIME), note=f"{NOTE} {_ALL_TIME_NOTE}")]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    # The query returns all of them, because their sums say what the path is made of.
    return {"hotspots": {**scope.walked, "limit": MOST}}


SECTION = Section(60, _title, _content, _asks, lambda findings: findings.hotspots, group=PATH)
