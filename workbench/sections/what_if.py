"""What each of the longest hotspots costs, and what is critical once it takes no time."""

from collections.abc import Mapping, Sequence

import pandas as pd

from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import Section

_COLUMNS = (
    Column("name", "hotspot", "name"),
    Column("duration_ns", "on the path", "duration"),
    Column("gain_ns", "gain", "duration"),
    Column("share", "share", "share", roomy=True),
    Column("_then", "critical then", "lines"),
)
_METHOD = "The gain is a replay's: all work of that name removed, on the path or not, and all lags kept."
_NOTE = "Less gain than time on the path: something else was nearly as late."


def _content(findings: Findings) -> Sequence[Block]:
    if not findings.what_next:
        return []
    rows = pd.DataFrame([dict(row) for row in findings.what_next])
    rows["share"] = [findings.share(gain_ns) for gain_ns in rows["gain_ns"]]
    rows["_then"] = pd.Series([_names(row) for row in findings.what_next], dtype=object)
    return [Words(_METHOD), Table(rows.drop(columns="following"), _COLUMNS, note=_NOTE)]


def _names(row: Mapping[str, object]) -> Sequence[tuple[str, str]]:
    following = row["following"]
    assert isinstance(following, Sequence)
    return [("", str(spot["name"])) for spot in following] or [("nothing that has a name", "")]


SECTION = Section(80, "What if", _content)
