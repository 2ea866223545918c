"""What the path is made of under each policy between threads, and on recorded dependencies only."""

from collections.abc import Sequence
from dataclasses import asdict

import pandas as pd

from tracegraph.workbench.findings.assumptions import Assumption, read_assumptions
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import PATH, Section
from tracegraph.workbench.text.text import format_share

_COLUMNS = (
    Column("_shown", "assumption"),
    Column("events", "events", "share"),
    Column("named_gaps", "named gaps", "share"),
    Column("unknown", "unknown", "share", roomy=True),
    Column("inferred", "inferred", "share"),
    Column("_longest", "longest hotspots", "lines"),
)
_NONE_MATTERS = (
    "none matters: the path is made of the same under every policy between threads and on recorded "
    "dependencies only"
)
_METHOD = (
    "What the path is made of with other dependencies between threads, and without any that a timing "
    "rule made (recorded only). Where the rows differ, the conclusion rests on the choice:"
)


def _content(findings: Findings) -> Sequence[Block]:
    assumptions = read_assumptions(findings)
    if not assumptions:
        return []
    if all(one.same for one in assumptions):
        return [Words(_NONE_MATTERS, "good")]
    rows = pd.DataFrame([asdict(one) for one in assumptions]).drop(columns="hotspots")
    rows["_shown"] = [f"{one.name} (chosen)" if one.chosen else one.name for one in assumptions]
    rows["_longest"] = pd.Series([_hotspots(one) for one in assumptions], dtype=object)
    return [Words(_METHOD), Table(rows, _COLUMNS, bold="chosen")]


def _hotspots(one: Assumption) -> Sequence[tuple[str, str]]:
    if one.same and not one.chosen:
        return [("the same", "")]
    return [(f"{format_share(share):>7}  ", name) for name, share in one.hotspots] or [("none", "")]


SECTION = Section(90, "Other assumptions", _content, group=PATH)
