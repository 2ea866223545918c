"""What each of the longest hotspots costs, and what is critical once it takes no time."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import ADVICE, Section

_COLUMNS = (
    Column("name", "hotspot", "name"),
    Column("duration_ns", "on the path", "duration"),
    Column("gain_ns", "gain", "duration"),
    Column("share", "share", "share", roomy=True),
    Column("_then", "critical then", "lines"),
)
_METHOD = "The gain is a replay's: all work of that name removed, on the path or not, and all lags kept."
_BASES = {
    "corrected": "Gains are corrected for what recording cost: they are of a run without the profiler.",
    "naive": "Gains are as recorded: the file does not show what recording cost.",
}
_NOTE = "Less gain than time on the path: something else was nearly as late."


_LARGEST = (
    Column("name", "the largest names and waits", "name"),
    Column("path_ns", "on the path", "duration"),
    Column("gain_ns", "gain", "duration"),
    Column("low_ns", "at least", "duration", roomy=True),
    Column("high_ns", "at most", "duration", roomy=True),
    Column("halved_ns", "halved", "duration"),
    Column("_worth", "", "lines"),
)
_INSIDE = (
    "The same with all that runs inside a name, GPU work launched there and what is handed over to other "
    "threads meanwhile included, taken away or halved; or without a wait."
)
_WIDE = "at most is more than ten times at least: "
_LITTLE = 0.5
"""A name is worth little if its gain is less than this part of what its share of the path promises. Half is
the majority of what is promised; a larger one would explain gains that need no reason."""


def _content(findings: Findings) -> Sequence[Block]:
    return [*_hotspots(findings), *_largest(findings)]


def _largest(findings: Findings) -> Sequence[Block]:
    if not findings.potential or findings.part:
        return []
    rows = pd.DataFrame([dict(row) for row in findings.potential]).astype({"halved_ns": "Int64"})
    rows["_worth"] = pd.Series([_why_little(findings, row) for row in findings.potential], dtype=object)
    return [Words(_INSIDE), Table(rows.drop(columns="following"), _LARGEST)]


def _why_little(findings: Findings, row: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Say why what is large on the path gains little: what is critical then; and why a range is wide."""
    wide = [(f"{_WIDE}{row['wide']}", "")] if row.get("wide") else []
    if row["gain_ns"] >= _LITTLE * findings.share(row["path_ns"]) * row["base_ns"]:
        return wide or [("", "")]
    return [*(("worth little: critical then is ", str(spot["name"])) for spot in row["following"][:1]), *wide]


def _hotspots(findings: Findings) -> Sequence[Block]:
    if not findings.what_next:
        return []
    rows = pd.DataFrame([dict(row) for row in findings.what_next])
    rows["share"] = [findings.share(gain_ns) for gain_ns in rows["gain_ns"]]
    rows["_then"] = pd.Series([_names(row) for row in findings.what_next], dtype=object)
    basis = _BASES[str(findings.what_next[0].get("basis", "naive"))]
    return [Words(_METHOD), Words(basis), Table(rows.drop(columns="following"), _COLUMNS, note=_NOTE)]


def _names(row: Mapping[str, object]) -> Sequence[tuple[str, str]]:
    following = row["following"]
    assert isinstance(following, Sequence)
    return [("", str(spot["name"])) for spot in following] or [("nothing that has a name", "")]


SECTION = Section(80, "What if", _content, group=ADVICE)
