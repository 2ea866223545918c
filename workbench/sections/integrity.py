"""What was odd, dropped, repaired or missing in the input."""

from collections.abc import Sequence

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import INPUT, Section

_COLUMNS: Sequence[Column] = (
    Column("level", "level"),
    Column("code", "code"),
    Column("count", "count", "count"),
    Column("message", "what", "prose"),
)
_OF_SEVERAL = (*_COLUMNS, Column("_file", "file", "name"))
_TONES = {"error": "error", "warning": "warning", "info": "note"}


def _content(findings: Findings) -> Sequence[Block]:
    if not findings.details.integrity:
        return [Words("nothing odd, dropped, repaired or missing", "good")]
    rows = pd.DataFrame([dict(row) for row in findings.details.integrity])
    columns = _COLUMNS
    if findings.details.ranks > 1:
        rows, columns = _by_code(rows), _OF_SEVERAL
    return [Table(rows.assign(_tone=rows["level"].map(_TONES).fillna("")), columns, tone="_tone")]


def _by_code(rows: pd.DataFrame) -> pd.DataFrame:
    """Join what several files have in common in one row: the sum of counts, and the first file's message."""
    groups = rows.groupby(["level", "code"], sort=False)
    found = groups.agg(count=("count", "sum"), message=("message", "first"), file=("file", "first"))
    more = groups["file"].nunique() - 1
    found["_file"] = [
        f"{file} and {others} more" if others else file
        for file, others in zip(found["file"], more, strict=True)
    ]
    return found.reset_index()


SECTION = Section(10, "Integrity of the input", _content, group=INPUT)
