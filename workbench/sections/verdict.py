"""The answer first: at most three sentences, after one line about the input."""

from collections import Counter
from collections.abc import Sequence

from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.report.verdict import judge
from tracegraph.workbench.sections.blocks import Block, Fact, Facts
from tracegraph.workbench.sections.section import Section
from tracegraph.workbench.text import plural


def _content(findings: Findings) -> Sequence[Block]:
    verdict = judge(findings)
    words = dict(zip(("verdict", "first"), verdict.sentences[:-1], strict=False))
    facts = [Fact(word, sentence) for word, sentence in words.items()]
    return [Facts([_input(findings), *facts, Fact("not known", verdict.sentences[-1])])]


def _input(findings: Findings) -> Fact:
    rows = findings.details.integrity
    levels = Counter(str(row["level"]) for row in rows)
    said = [plural(levels[level], level) for level in ("error", "warning") if levels[level]]
    if not said:
        return Fact("input", "nothing lost, damaged or missing that the answer rests on", "good")
    codes = Counter(str(row["code"]) for row in rows if row["level"] in ("error", "warning"))
    listed = ", ".join(code if count == 1 else f"{code} ({count} files)" for code, count in codes.items())
    return Fact("input", f"{' and '.join(said)}: {listed}", "error" if levels["error"] else "warning")


SECTION = Section(2, "Verdict", _content, in_short=True)
