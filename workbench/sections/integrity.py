"""What was odd, dropped, repaired or missing in the input."""

from collections.abc import Sequence

import pandas as pd

from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import Section

_COLUMNS = (
    Column("level", "level"),
    Column("code", "code"),
    Column("count", "count", "count"),
    Column("message", "what", "prose"),
)
_TONES = {"error": "error", "warning": "warning", "info": "note"}


def _content(findings: Findings) -> Sequence[Block]:
    if not findings.details.integrity:
        return [Words("nothing odd, dropped, repaired or missing", "good")]
    rows = pd.DataFrame([dict(row) for row in findings.details.integrity])
    return [Table(rows.assign(_tone=rows["level"].map(_TONES).fillna("")), _COLUMNS, tone="_tone")]


SECTION = Section(10, "Integrity of the input", _content)
