"""The named gaps of the path: time that no event explains."""

from collections.abc import Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Table, Words
from tracegraph.workbench.sections.hotspots import LISTED, NOTE
from tracegraph.workbench.sections.section import PATH, Section


def _content(findings: Findings) -> Sequence[Block]:
    if findings.gaps.empty:
        return [Words("none")]
    return [Table(findings.gaps_unknown_first, LISTED, note=NOTE)]


SECTION = Section(
    70,
    "Gaps on the critical path",
    _content,
    lambda scope: {"path_gaps": scope.walked},
    lambda findings: findings.gaps,
    group=PATH,
)
