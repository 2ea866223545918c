"""The answer first: at most three sentences, after one line about the input."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tracegraph.vocabulary.integrity_codes import DOUBTFUL
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.verdict import OF_PATH, judge
from tracegraph.workbench.sections.blocks import Block, Fact, Facts, Tone
from tracegraph.workbench.sections.section import ANSWER, Section
from tracegraph.workbench.text.text import format_share, label, plural

FIRST = "first"
"""The word of the fact that says what to do first."""
_MUCH = 0.05
"""From this share of the path (0..1) on, missing records are mentioned with the input. The share from which
the integrity section makes it a warning (`unrecorded_path`)."""
_MESSAGE_CELLS = 200
"""How many cells a message about the input may take before it is shortened."""
_PLACE = "; first: "
"""Before the place of the first case, which a message ends with."""


def _content(findings: Findings) -> Sequence[Block]:
    verdict = judge(findings)
    words = dict(zip(("verdict", FIRST), verdict.sentences[:-1], strict=False))
    facts = [Fact(word, sentence) for word, sentence in words.items()]
    if verdict.where:
        facts.insert(1, Fact("where", verdict.where))
    return [Facts([trust(findings), *facts, Fact("not known", verdict.sentences[-1])])]


def trust(findings: Findings) -> Fact:
    """Say how far the input can be trusted."""
    rows = [row for row in findings.details.integrity if row["level"] in DOUBTFUL]
    lost, unseen = findings.unrecorded_share + findings.unknown_share, sum(findings.unseen.values())
    much = f"{format_share(unseen)} of the path was not recorded"
    if rows:
        tone: Tone = "error" if any(row["level"] == "error" for row in rows) else "warning"
        is_told = lost < _MUCH or any(row["code"] in OF_PATH for row in rows)
        return Fact("input", _told(rows) if is_told else f"{_told(rows)}; {much}", tone)
    if lost >= _MUCH:
        return Fact("input", much, "warning")
    if unseen >= _MUCH:
        return Fact("input", f"nothing lost or damaged; {much}", "note")
    return Fact("input", "nothing lost, damaged or missing that the answer rests on", "good")


def count_doubts(rows: Iterable[Mapping[str, object]]) -> str:
    """Count the findings that lower the trust, as `1 error and 2 warnings`; empty if there are none."""
    levels = Counter(row["level"] for row in rows)
    return " and ".join(plural(levels[level], level) for level in DOUBTFUL if levels[level])


def _told(rows: Sequence[Mapping[str, object]]) -> str:
    """Count the doubtful findings, list their codes, and say what the worst one is."""
    counted, codes = count_doubts(rows), Counter(str(row["code"]) for row in rows)
    listed = ", ".join(code if count == 1 else f"{code} in {count} files" for code, count in codes.items())
    worst = next(row for level in DOUBTFUL for row in rows if row["level"] == level)
    message = label(str(worst["message"]).partition(_PLACE)[0], _MESSAGE_CELLS)
    which, cases = ", the first" if len(rows) > 1 else "", int(str(worst["count"]))
    # Messages are about several cases.
    return f"{counted} ({listed}){which}: {f'{cases:,} {message}' if cases > 1 else message}"


SECTION = Section(2, "Verdict", _content, in_short=True, group=ANSWER)
