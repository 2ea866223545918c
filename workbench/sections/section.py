"""What a section of a report is, and the list of all sections."""

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.queries.run_part import RunPart
from tracegraph.queries.runs import RunWindow
from tracegraph.workbench import sections
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Table, exact_rows

Parameters = Mapping[str, object]


@dataclass(frozen=True)
class Scope:
    """What a report is about: a run of `ranks` ranks, its window or that of a part.

    `drawn`: the report is also for a page, which draws the lanes.
    """

    run: str
    window: RunWindow
    part: RunPart
    drawn: bool
    ranks: int = 1
    phase: str | None = None

    @property
    def is_part(self) -> bool:
        """Whether the report is about a step or phase."""
        return self.step is not None or self.phase is not None

    @property
    def length_ns(self) -> int:
        """Length of the window, ns."""
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
    names with its parameters; a section without blocks is left out. `place` orders the sections. `rows` are
    those of its CSV file, by default those of its first table. `page_only`: terminal, CSV and summary leave
    it out. `in_short`: it belongs to the answer on one screen.
    """

    place: int
    title: Callable[[Findings], str] | str
    content: Callable[[Findings], Sequence[Block]]
    asks: Callable[[Scope], Mapping[str, Parameters]] = _nothing
    rows: Callable[[Findings], pd.DataFrame] | None = None
    page_only: bool = False
    in_short: bool = False

    def tables(self, findings: Findings) -> list[pd.DataFrame]:
        """Return the rows of the section's tables; none if it is for a page only."""
        if self.page_only:
            return []
        return [exact_rows(block.frame) for block in self.content(findings) if isinstance(block, Table)]

    def heading(self, findings: Findings) -> str:
        """Return the title, which may hold numbers."""
        return self.title if isinstance(self.title, str) else self.title(findings)


def refuse_part(findings: Findings) -> None:
    """Refuse a report on a part of a run if what is asked for is about the whole run.

    Raises
    ------
    InputError
        The report is on a step or phase.
    """
    if findings.part:
        given = "--step" if findings.part.phase is None else "--step and --phase"
        raise InputError(f"this report is on {findings.part} only", f"leave out {given}")


@cache
def all_sections() -> dict[str, Section]:
    """Collect every module's `SECTION` by the name of the module, in the order of the report."""
    names = (module.name for module in pkgutil.iter_modules(sections.__path__))
    modules = {name: import_module(f"{sections.__name__}.{name}") for name in names}
    found = {name: module.SECTION for name, module in modules.items() if hasattr(module, "SECTION")}
    return dict(sorted(found.items(), key=lambda item: (item[1].place, item[0])))


def questions(scope: Scope) -> dict[str, Parameters]:
    """Collect the queries of all sections with their parameters."""
    asked: dict[str, Parameters] = {}
    for section in all_sections().values():
        asked |= section.asks(scope)
    return asked
