"""What becomes critical next: events with little slack, and second causes of the hotspots."""

from collections.abc import Iterator, Mapping, Sequence

from tracegraph.workbench.findings.findings import Findings, near_slack_ns
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import PATH, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_ns

_ROWS = 10
"""How many rows each table lists."""
_LEAST_PART = 1_000
"""Events shorter than one of so many parts of the window are not asked for."""
_SLACK = (
    Column("name", "name", "name"),
    Column("category", "category", roomy=True),
    Column("lane_name", "lane"),
    Column("slack_ns", "slack", "duration"),
    Column("duration_ns", "duration", "duration"),
    Column("share", "share", "share"),
    Column("count", "count", "count", roomy=True),
)
_TURNS = (
    Column("name", "name", "name"),
    Column("margin_ns", "margin", "duration"),
    Column("cause", "cause", "name", roomy=True),
    Column("mechanism", "by", roomy=True),
    Column("second", "second cause", "name"),
    Column("second_mechanism", "by"),
)


def _content(findings: Findings) -> Sequence[Block]:
    return [*_close(findings), *_turning(findings)]


def _close(findings: Findings) -> Iterator[Block]:
    slack = format_ns(findings.near_slack_ns)
    if findings.near_critical.empty:
        yield Words(f"no event off the path would lengthen the run by ending {slack} later")
    else:
        caption = f"Events off the path that may end at most {slack} later at no cost, the least first:"
        yield Table(findings.near_critical, _SLACK, caption)


def _turning(findings: Findings) -> Iterator[Block]:
    turns = findings.second_causes[findings.second_causes["count"] > 0]
    if turns.empty:
        yield Words("no start of a hotspot has a second cause")
    else:
        caption = "Hotspots whose starts have a second cause; it takes over when the first gains the margin:"
        yield Table(turns, _TURNS, caption)


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    near = {
        "slack_ns": near_slack_ns(scope.length_ns),
        "least_ns": scope.length_ns // _LEAST_PART,
        "limit": _ROWS,
    }
    return {
        "near_critical": {**scope.between, **near},
        "second_causes": {**scope.walked, "limit": _ROWS},
    }


SECTION = Section(
    110,
    "Nearly critical",
    _content,
    _asks,
    lambda findings: findings.near_critical,
    group=PATH,
)
