"""The path row by row, as far as a page shows it."""

from collections.abc import Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table
from tracegraph.workbench.sections.section import PATH, Section
from tracegraph.workbench.text.text import format_share, plural

_ROWS = 500
"""How many rows the page shows; critical_path.csv has all."""
_COLUMNS = (
    Column("after_ns", "after start", "duration"),
    Column("duration_ns", "duration", "duration"),
    Column("lane_name", "lane"),
    Column("name", "name", "name"),
    Column("because", "because of"),
    Column("known", "evidence"),
)


def _content(findings: Findings) -> Sequence[Block]:
    rows = findings.path.head(_ROWS)
    names = findings.lanes.set_index("lane")["name"]
    texts = {name: rows[name].astype(object).fillna("") for name in ("dependency", "mechanism", "evidence")}
    shown = rows.assign(
        after_ns=rows["start_ns"] - findings.start_ns,
        duration_ns=rows["end_ns"] - rows["start_ns"],
        lane_name=rows["lane"].map(names).astype(object).fillna(rows["lane"].astype(str)),
        because=[
            f"{dependency}, {mechanism}" if mechanism else dependency
            for dependency, mechanism in zip(texts["dependency"], texts["mechanism"], strict=True)
        ],
        known=[
            f"{evidence}, {format_share(confidence)}" if evidence else ""
            for evidence, confidence in zip(texts["evidence"], rows["confidence"], strict=True)
        ],
    )
    left = len(findings.path) - len(rows)
    stretches = plural(len(findings.path), "stretch", "stretches")
    note = f"The first {_ROWS} of {stretches}; critical_path.csv has them all." if left else ""
    return [Table(shown, _COLUMNS, note=note, long=True)]


SECTION = Section(140, "The path, stretch by stretch", _content, page_only=True, group=PATH)
