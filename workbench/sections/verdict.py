"""The answer first: at most three sentences, after one line about the input."""

from collections import Counter
from collections.abc import Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.verdict import judge
from tracegraph.workbench.sections.blocks import Block, Fact, Facts
from tracegraph.workbench.sections.section import ANSWER, Section
from tracegraph.workbench.text.text import format_share, label, plural

_MUCH = 0.05
"""From this share of the path (0..1) on, missing records are mentioned with the input."""
_DOUBTFUL = ("error", "warning")
"""The levels of findings that lower the trust in the answer, the worst first."""
_MESSAGE_CELLS = 160
"""How many cells a message about the input may take before it is shortened."""


def _content(findings: Findings) -> Sequence[Block]:
    verdict = judge(findings)
    words = dict(zip(("verdict", "first"), verdict.sentences[:-1], strict=False))
    facts = [Fact(word, sentence) for word, sentence in words.items()]
    return [Facts([trust(findings), *facts, Fact("not known", verdict.sentences[-1])])]


def trust(findings: Findings) -> Fact:
    """Say how far the input can be trusted."""
    rows = findings.details.integrity
    levels = Counter(str(row["level"]) for row in rows)
    said = [plural(levels[level], level) for level in _DOUBTFUL if levels[level]]
    lost = findings.unrecorded_share + findings.unknown_share
    if not said and lost < _MUCH:
        return Fact("input", "nothing lost, damaged or missing that the answer rests on", "good")
    much = f"{format_share(lost)} of the path has no record" if lost >= _MUCH else ""
    if not said:
        return Fact("input", much, "warning")
    odd = [row for row in rows if row["level"] in _DOUBTFUL]
    codes = Counter(str(row["code"]) for row in odd)
    listed = ", ".join(code if count == 1 else f"{code} ({count} files)" for code, count in codes.items())
    worst = min(odd, key=lambda row: _DOUBTFUL.index(str(row["level"])))
    message = label(str(worst["message"]), _MESSAGE_CELLS)
    says = f"{'the first ' if len(odd) > 1 else ''}says: {message}" if message else ""
    told = "; ".join(filter(None, [f"{' and '.join(said)}: {listed}", much, says]))
    return Fact("input", told, "error" if levels["error"] else "warning")


SECTION = Section(2, "Verdict", _content, in_short=True, group=ANSWER)
