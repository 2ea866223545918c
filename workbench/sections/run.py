"""The run: how much the graph holds of it."""

from collections.abc import Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Words
from tracegraph.workbench.sections.section import Section
from tracegraph.workbench.text.text import label, plural

_NAME_CELLS = 80
"""How many cells the name of the run may take before it is shortened."""


def _title(findings: Findings) -> str:
    return f"Run {label(findings.details.name, _NAME_CELLS)}"


def _content(findings: Findings) -> Sequence[Block]:
    details = findings.details
    edges = sum(details.relationships.values())
    counts = (
        f"{plural(details.ranks, 'rank')}, {plural(details.events, 'event')}; in the graph "
        f"{plural(details.nodes, 'node')} and {plural(edges, 'relationship')}"
    )
    return [Words(counts)]


SECTION = Section(0, _title, _content, lambda scope: {"traces": scope.whole})
