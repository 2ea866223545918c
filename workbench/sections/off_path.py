"""The names with much work that is not on the path, and what the path did meanwhile."""

from collections.abc import Mapping, Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import PATH, Parameters, Scope, Section

_ROWS, _LEAST_PART = 10, 100
"""How many names are listed, and by which part of the window (1 %) a name counts as large."""
_COLUMNS = (
    Column("name", "name", "name"),
    Column("category", "category", roomy=True),
    Column("accumulated_ns", "accumulated", "duration"),
    Column("on_path_ns", "on the path", "duration", roomy=True),
    Column("count", "count", "count", roomy=True),
    Column("slack_ns", "least slack", "duration"),
    Column("meanwhile", "the path ran on", "name"),
    Column("meanwhile_lane", "of", roomy=True),
    Column("meanwhile_share", "for", "share"),
)
_CAPTION = "Names with 1 % of the window or more in work of their own, of which at most 5 % is on the path:"
_NOTE = (
    "Least slack: so much later one of them may end before the run gets longer. The path ran on: what of it "
    "overlaps most with their 20 longest stretches, and for which share of these."
)
_NONE = "none: every name with 1 % of the window or more in work of its own is on the path, too"


def _content(findings: Findings) -> Sequence[Block]:
    rows = findings.answers["off_path_hotspots"]
    return [Words(_NONE)] if rows.empty else [Table(rows, _COLUMNS, _CAPTION, _NOTE)]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    least_ns = max(1, scope.length_ns // _LEAST_PART)
    return {"off_path_hotspots": {**scope.walked, "least_ns": least_ns, "limit": _ROWS}}


SECTION = Section(105, "Large but not critical", _content, _asks, group=PATH)
