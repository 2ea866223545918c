"""A section of a report, and all there are."""

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.queries.run_part import RunPart
from tracegraph.queries.runs import RunWindow
from tracegraph.queries.shapes.peak.job import NOTHING_SAID, Job
from tracegraph.workbench import sections
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Table, exact_rows

Parameters = Mapping[str, object]
ANSWER, TIME, ADVICE = "Answer", "Where the time goes", "More advice"
PATH, CODE, GPU, OTHERS, MEMORY, INPUT = "Critical path", "Code", "GPU", "Between ranks", "Memory", "Input"
GROUPS = (ANSWER, TIME, ADVICE, PATH, CODE, GPU, OTHERS, MEMORY, INPUT)
"""The groups of a page's sections, in its order."""
OPEN = (ANSWER, TIME)
"""Groups whose sections a page shows; those of the others are folded until somebody opens them."""


@dataclass(frozen=True)
class Scope:
    """What a report is about: a run of `ranks`, its window or that of a part; `drawn`: for a page, too.

    `job`: what the user says of it. `communicates`: whether ranks communicate in it, as far as a look at it
    tells: what is only about that is not asked where they do not.
    """

    run: str
    window: RunWindow
    part: RunPart
    drawn: bool
    ranks: int = 1
    job: Job = NOTHING_SAID
    communicates: bool = True

    @property
    def length_ns(self) -> int:
        """Length of the window."""
        return self.window.end_ns - self.window.start_ns

    @property
    def whole(self) -> Parameters:
        """The parameter of queries about the run."""
        return {"run": self.run}

    @property
    def between(self) -> Parameters:
        """Parameters of queries about what lies in the window."""
        return {"run": self.run, "start_ns": self.window.start_ns, "end_ns": self.window.end_ns}

    @property
    def walked(self) -> Parameters:
        """Parameters of queries about the window's critical path."""
        return {**self.between, "chain": self.window.chain}


def _nothing(_: Scope) -> Mapping[str, Parameters]:
    return {}


@dataclass(frozen=True)
class Section:
    """A part of a report.

    `content` makes its blocks from the findings, whose `answers` hold the rows of each query that `asks`
    names with its parameters; without blocks the section is left out. `place` orders the sections. `rows` are
    those of its CSV file, by default its first table's. `page_only`: terminal, CSV and summary leave it out.
    `in_short`: its facts are part of the first screen. `group`: where on the page it stands.
    """

    place: int
    title: Callable[[Findings], str] | str
    content: Callable[[Findings], Sequence[Block]]
    asks: Callable[[Scope], Mapping[str, Parameters]] = _nothing
    rows: Callable[[Findings], pd.DataFrame] | None = None
    page_only: bool = False
    in_short: bool = False
    group: str = ANSWER

    def tables(self, findings: Findings) -> list[pd.DataFrame]:
        """Return the rows of its tables, none where it is for a page only."""
        if self.page_only:
            return []
        return [exact_rows(block.frame) for block in self.content(findings) if isinstance(block, Table)]

    def heading(self, findings: Findings) -> str:
        """Return the title, which may hold numbers."""
        return self.title if isinstance(self.title, str) else self.title(findings)


def refuse_part(findings: Findings) -> None:
    """InputError in a report on a part of a run: what is asked for is about all of it."""
    if findings.part:
        given = "--step" if findings.part.phase is None else "--step and --phase"
        raise InputError(f"this report is on {findings.part} only", f"leave out {given}")


@cache
def all_sections() -> dict[str, Section]:
    """Every section by the name of its module, in the report's order: each module's `SECTION`."""
    names = (module.name for module in pkgutil.iter_modules(sections.__path__))
    modules = {name: import_module(f"{sections.__name__}.{name}") for name in names}
    found = {name: module.SECTION for name, module in modules.items() if hasattr(module, "SECTION")}
    return dict(sorted(found.items(), key=lambda item: (item[1].place, item[0])))


def questions(scope: Scope, *, in_short: bool = False) -> dict[str, Parameters]:
    """Return the queries of all sections with their parameters, or of those of the first screen."""
    asked: dict[str, Parameters] = {}
    for section in all_sections().values():
        if section.in_short or not in_short:
            asked |= section.asks(scope)
    return asked
