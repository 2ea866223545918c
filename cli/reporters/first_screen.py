"""What a report says first: the run, the verdict, what the path is made of and what each fix gains."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tracegraph.base.units import short_ns
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import Row, said_together
from tracegraph.workbench.findings.recommendations import fixes_to_try
from tracegraph.workbench.sections.blocks import Fact, Facts, Stack, Words
from tracegraph.workbench.sections.made_of import made_of
from tracegraph.workbench.sections.section import all_sections
from tracegraph.workbench.sections.verdict import FIRST, count_doubts
from tracegraph.workbench.text.text import label, plural, visible

_NAME_CELLS = 40
"""How many cells the name of the run may take before it is shortened."""
_MOST_FACTS = 5
"""How many facts of a section are said; `-v` has all."""


@dataclass(frozen=True)
class FirstScreen:
    """The content of the first screen of a report, for whoever shows it.

    `facts`: by heading, what is known. `made_of`: the parts of the path, None if it has none. `fixes`: rows
    of the findings, by gain; `together`: what several of them gain, empty where there are none.
    """

    title: str
    facts: Sequence[tuple[str, Sequence[Fact]]]
    made_of: Stack | None
    fixes: Sequence[Row]
    together: str = ""


def first_screen(findings: Findings) -> FirstScreen:
    """Choose from the findings what the first screen says."""
    fixes = fixes_to_try(findings)
    facts = [(heading, list(_with_how(known, fixes))) for heading, known in _facts(findings)]
    return FirstScreen(_title(findings), facts, made_of(findings), fixes, said_together(fixes))


def _title(findings: Findings) -> str:
    details = findings.details
    part = f", {visible(str(findings.part))}" if findings.part else ""
    full = sum(not source.in_short for source in details.sources)
    ranks = plural(details.ranks, "rank") + (f" ({full:,} in full)" if 0 < full < details.ranks else "")
    about = [ranks, short_ns(findings.length_ns), _trust(findings)]
    return f"Run {label(details.name, _NAME_CELLS)}{part}: {', '.join(about)}"


def _trust(findings: Findings) -> str:
    """Count what lowers the trust in the input."""
    return f"{count_doubts(findings.details.integrity) or 'no errors or warnings'} about the input"


def _facts(findings: Findings) -> Iterator[tuple[str, Sequence[Fact]]]:
    for section in all_sections().values():
        if section.in_short:
            facts: list[Fact] = []
            for block in section.content(findings):
                if isinstance(block, Facts):
                    facts += block.facts[:_MOST_FACTS]
                elif isinstance(block, Words):
                    facts.append(Fact("", block.text, block.tone))
            # The title says already that the input is good, and the verdict what was not recorded.
            doubted = [fact for fact in facts if fact.tone not in ("good", "note")]
            if doubted:
                yield section.heading(findings), list(map(_once, doubted))


def _with_how(known: Sequence[Fact], fixes: Sequence[Row]) -> Iterator[Fact]:
    """Yield the facts, and after the one that names the best fix how that is done."""
    for fact in known:
        yield fact
        if fact.word == FIRST and fixes:
            yield Fact("how", f"{fixes[0]['how']}.")


def _once(fact: Fact) -> Fact:
    """Leave out what the text says again of its word, as in `not known  Not known: …`."""
    said = fact.word and fact.text.lower().startswith(f"{fact.word}: ")
    return replace(fact, text=fact.text[len(fact.word) + 2 :]) if said else fact
