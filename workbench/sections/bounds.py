"""What bounds the run: how long it is if a resource takes no time, and what no schedule beats."""

from collections.abc import Sequence

import pandas as pd

from tracegraph.vocabulary import bounds
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.verdict import judge
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import ADVICE, Section

_RESOURCES = (
    Column("resource", "without", "text"),
    Column("length_ns", "the run takes", "duration"),
    Column("gain_ns", "gain", "duration"),
    Column("share", "share", "share"),
    Column("_means", "what that is", "prose", roomy=True),
)
_FLOORS = (
    Column("floor", "no schedule is shorter than", "text"),
    Column("name", "", "name"),
    Column("length_ns", "length", "duration"),
)
_METHOD = (
    "The run replayed with each resource at no time, alone; two together may gain more, or less, than both. "
    "Corrected for what recording cost."
)


def _content(findings: Findings) -> Sequence[Block]:
    found = findings.bounds
    if not found.get("resources"):
        return []
    rows = pd.DataFrame(found["resources"])
    rows["_means"] = rows["resource"].map(bounds.RESOURCES)
    blocks: list[Block] = [Words(judge(findings).sentences[0]), Words(_METHOD), Table(rows, _RESOURCES)]
    if found["floors"]:
        blocks.append(Table(pd.DataFrame(found["floors"]), _FLOORS))
    return blocks


SECTION = Section(12, "What bounds the run", _content, group=ADVICE)
