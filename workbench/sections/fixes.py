"""What could be done about the run, and what each fix gains."""

from collections.abc import Sequence

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import NOTHING, said_together
from tracegraph.workbench.sections.blocks import Block, Column, Gains, Table, Words
from tracegraph.workbench.sections.section import ANSWER, Section

_COLUMNS = (
    Column("title", "fix", "text"),
    Column("gain_ns", "gain", "duration"),
    Column("low_ns", "at least", "duration"),
    Column("high_ns", "at most", "duration"),
    Column("inferred_share", "inferred", "share", roomy=True),
    Column("evidence", "what shows it", "prose"),
    Column("how", "how", "prose", roomy=True),
    Column("command", "predict it", "text", roomy=True),
    Column("_assumed", "taken for granted", "prose", roomy=True),
)
_DRAWN = 3
"""How many fixes a page draws; all stand in the table."""
_FOLDED = "All fixes, with what each takes for granted and what is inferred"
_METHOD = (
    "Each is the run replayed as it would be after the fix, alone, corrected for what recording cost: what "
    "several gain together is no sum, `tracegraph plan` says it. What is taken for granted stands in no file."
)


def _content(findings: Findings) -> Sequence[Block]:
    if findings.part or not (findings.bounds or findings.fixes):  # runs of an earlier version lack both
        return []
    if not findings.fixes:
        return [Words(NOTHING)]
    rows = pd.DataFrame([dict(row) for row in findings.fixes])
    if "with_first_ns" in rows:  # runs of an earlier version lack it
        rows["with_first_ns"] = rows["with_first_ns"].astype("Int64")
    rows["_assumed"] = ["; ".join(texts) for texts in rows["assumptions"]]
    rows["assumptions"] = rows["_assumed"]
    shown = findings.fixes[:_DRAWN]
    gains = Gains(shown, int(shown[0]["base_ns"]), said_together(shown))
    return [gains, Table(rows, _COLUMNS, note=_METHOD, folded=_FOLDED)]


SECTION = Section(14, "What to do about it", _content, group=ANSWER)
