"""What a report says first: the run, the verdict, what the path is made of and what each fix gains."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracegraph.vocabulary.categories import GAP, find_category
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import Row
from tracegraph.workbench.findings.recommendations import recommend
from tracegraph.workbench.sections.blocks import Fact, Facts, Words
from tracegraph.workbench.sections.section import all_sections
from tracegraph.workbench.text.text import format_ns, label, plural, visible

_NAME_CELLS = 40
"""How many cells the name of the run may take before it is shortened."""
_MOST_PARTS = 5
"""How many parts of the path are named; the rest is one part."""
_MOST_FACTS = 4
"""How many facts of a section are said; `-v` has all."""
_DOUBTFUL = ("error", "warning")
"""The levels of findings about the input that lower the trust in the answer."""


@dataclass(frozen=True)
class Part:
    """A part of the path: its name in words, its length in ns, and the category that gives its colour."""

    name: str
    length_ns: int
    category: str


@dataclass(frozen=True)
class FirstScreen:
    """The content of the first screen of a report, for whoever shows it.

    `facts`: by heading, what is known. `parts`: the largest first; they sum to `length_ns`. `fixes`: rows of
    the findings, by gain. `observed`: how many rules found something besides.
    """

    title: str
    facts: Sequence[tuple[str, Sequence[Fact]]]
    parts: Sequence[Part]
    length_ns: int
    fixes: Sequence[Row]
    observed: int


def first_screen(findings: Findings) -> FirstScreen:
    """Choose from the findings what the first screen says."""
    advice = recommend(findings)
    fixes = [one.fix for one in advice if one.fix is not None]
    return FirstScreen(
        _title(findings),
        list(_facts(findings)),
        _parts(findings),
        findings.length_ns,
        fixes,
        len(advice) - len(fixes),
    )


def _title(findings: Findings) -> str:
    details = findings.details
    part = f", {visible(str(findings.part))}" if findings.part else ""
    about = [plural(details.ranks, "rank"), format_ns(findings.length_ns), _trust(findings)]
    return f"Run {label(details.name, _NAME_CELLS)}{part}: {', '.join(about)}"


def _trust(findings: Findings) -> str:
    """Count what lowers the trust in the input."""
    counts = Counter(str(row["level"]) for row in findings.details.integrity)
    said = " and ".join(plural(counts[level], level) for level in _DOUBTFUL if counts[level])
    return f"{said or 'no errors or warnings'} about the input"


def _facts(findings: Findings) -> Iterator[tuple[str, Sequence[Fact]]]:
    for section in all_sections().values():
        if section.in_short:
            facts: list[Fact] = []
            for block in section.content(findings):
                if isinstance(block, Facts):
                    facts += block.facts[:_MOST_FACTS]
                elif isinstance(block, Words):
                    facts.append(Fact("", block.text, block.tone))
            # The title says already that the input is good.
            doubted = [fact for fact in facts if fact.tone != "good"]
            if doubted:
                yield section.heading(findings), doubted


def _parts(findings: Findings) -> Sequence[Part]:
    """Share out the path among kinds of work, in words, and gaps, by name."""
    lengths: Counter[tuple[str, str]] = Counter()
    for category, length_ns in findings.by_category_ns.items():
        if category != GAP:
            lengths[find_category(category).role.value, category] += length_ns
    for name, length_ns in findings.by_gap_ns.items():
        lengths[name, GAP] += length_ns
    merged: dict[str, Part] = {}
    for (name, category), length_ns in lengths.most_common():
        before = merged.get(name)
        merged[name] = Part(name, length_ns + (before.length_ns if before else 0), category)
    ordered = sorted(merged.values(), key=lambda part: -part.length_ns)
    parts = [part for part in ordered if part.length_ns][:_MOST_PARTS]
    rest = findings.length_ns - sum(part.length_ns for part in parts)
    return [*parts, Part("anything else", rest, "")] if rest > 0 else parts
