"""The window that the path tiles."""

from collections.abc import Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Words
from tracegraph.workbench.sections.section import PATH, Section
from tracegraph.workbench.text.text import format_ns


def _content(findings: Findings) -> Sequence[Block]:
    length, clock = format_ns(findings.length_ns), f"{findings.start_ns} to {findings.end_ns} ns"
    return [Words(f"{findings.scope}: {length}, from {clock} on the clock of the file")]


SECTION = Section(20, "Window", _content, group=PATH)
