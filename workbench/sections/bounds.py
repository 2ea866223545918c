"""What bounds the run: how long it is where each resource takes no time, and what no schedule beats."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tracegraph.store import bounds
from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import Section
from tracegraph.workbench.text import format_ns, format_share

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
    blocks: list[Block] = [Words(_said(found)), Words(_METHOD), Table(rows, _RESOURCES)]
    if found["floors"]:
        blocks.append(Table(pd.DataFrame(found["floors"]), _FLOORS))
    return blocks


def _said(found: Mapping[str, Any]) -> str:
    """The bottleneck in one sentence."""
    gains = {row["resource"]: row for row in found["resources"]}
    named = found["bottlenecks"]
    if not named:
        return "No resource by itself makes the run 2 % shorter."
    parts = [
        f"{name} ({format_ns(gains[name]['gain_ns'])}, {format_share(gains[name]['share'])})"
        for name in named
    ]
    if len(named) == 1:
        return f"The run is bound by {parts[0]}: no other resource gains two thirds of that when it is free."
    return f"Neither alone bounds the run: {', '.join(parts[:-1])} and {parts[-1]} gain about as much."


SECTION = Section(12, "What bounds the run", _content)
