"""The answer first: at most three sentences, after one line about the input."""

from collections import Counter
from collections.abc import Sequence

from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.report.verdict import judge
from tracegraph.workbench.sections.blocks import Block, Words
from tracegraph.workbench.sections.section import Section
from tracegraph.workbench.text import plural


def _content(findings: Findings) -> Sequence[Block]:
    return [_input(findings), *(Words(sentence) for sentence in judge(findings).sentences)]


def _input(findings: Findings) -> Words:
    levels = Counter(str(row["level"]) for row in findings.details.integrity)
    said = [plural(levels[level], level) for level in ("error", "warning") if levels[level]]
    if not said:
        return Words("Input: nothing lost, damaged or missing that the answer rests on.", "good")
    codes = ", ".join(
        str(row["code"]) for row in findings.details.integrity if row["level"] in ("error", "warning")
    )
    return Words(f"Input: {' and '.join(said)}: {codes}.", "error" if levels["error"] else "warning")


SECTION = Section(2, "Verdict", _content)
