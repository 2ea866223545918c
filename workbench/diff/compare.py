"""The difference of two runs, ranks or steps, and the files that it is saved as."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from tracegraph.base.progress import Progress, silent
from tracegraph.queries.answers import Answers
from tracegraph.queries.catalog import find
from tracegraph.queries.runs import fill
from tracegraph.queries.shapes.two_windows import together
from tracegraph.workbench.diff.gate import Gate, hold_to
from tracegraph.workbench.diff.scope import Scope, Side, choose
from tracegraph.workbench.diff.sections import facts_of, sections_of
from tracegraph.workbench.diff.steps import Steps, find_steps
from tracegraph.workbench.diff.verdict import judge
from tracegraph.workbench.output.csv_files import rows_csv
from tracegraph.workbench.output.folder import Written, named_folder, summary_of_earlier, write_files
from tracegraph.workbench.output.page import Head, Shown, sections_page
from tracegraph.workbench.sections.blocks import Block, Fact
from tracegraph.workbench.text.text import format_ns
from tracegraph.workbench.text.values import plain

PAGE, NUMBERS = "diff.html", "diff.json"
PATH, INSIDE, EVENTS = "path_diff", "path_inside_diff", "trace_diff_matched"


def write_difference(
    title: str,
    sections: Sequence[tuple[str, Sequence[Block]]],
    tables: Mapping[str, pd.DataFrame],
    numbers: Mapping[str, object],
    folder: Path,
    progress: Progress,
) -> Written:
    """Write diff.html, diff.json and `NAME.csv` for each table.

    Raises
    ------
    InputError
        The folder cannot be written.
    """
    shown = [Shown(f"part{place}", *section) for place, section in enumerate(sections)]
    few = {name: value for name, value in numbers.items() if name not in tables}
    makers = {
        NUMBERS: partial(_write, lambda: json.dumps(numbers, indent=1)),
        **{f"{name}.csv": partial(_write, partial(rows_csv, rows)) for name, rows in tables.items()},
        PAGE: partial(
            _write, lambda: sections_page(Head(title, ["What differs from A to B"]), shown, (NUMBERS, few))
        ),
    }
    return write_files(makers, folder, progress, _earlier_files)


def _earlier_files(folder: Path) -> Iterable[str]:
    """Find the files of the tables of an earlier difference in a folder: each is a list in its diff.json."""
    numbers = summary_of_earlier(folder / NUMBERS, "a", "b", "diff_ns", "verdict") or {}
    tables = (name for name, value in numbers.items() if isinstance(value, list) and name != "notes")
    return [f"{name}.csv" for name in tables if name == os.path.basename(name)]


def _write(text: Callable[[], str], out: BinaryIO) -> None:
    out.write(text().encode())


@dataclass(frozen=True)
class Difference:
    """What differs from A to B; times in ns.

    `path`, `inside`: the rows of `path_diff` and `path_inside_diff`; None if a side has no path of its own.
    `events`: those of `trace_diff_matched`. `verdict`: whether the difference is told from chance and what of
    the path explains it, as sentences by topic. `steps`: all steps of A and B compared; None where single
    steps were asked for, or a run has none.
    """

    scope: Scope
    path: pd.DataFrame | None
    inside: pd.DataFrame | None
    events: pd.DataFrame
    verdict: Mapping[str, str]
    steps: Steps | None
    progress: Progress = silent

    @property
    def diff_ns(self) -> int | None:
        """How much longer B is, ns; below 0 if it is shorter, None if a side has no path of its own."""
        lengths = self.scope.lengths_ns
        return None if lengths is None else lengths[1] - lengths[0]

    def held_to(self, limit_ns: int) -> Gate:
        """Tell whether B is longer than A by more than a limit, ns, beyond what chance brings."""
        return hold_to(limit_ns, self.diff_ns or 0, self.steps)

    @property
    def facts(self) -> Sequence[Fact]:
        """What is compared, and what is said of the difference."""
        return facts_of(self.scope, self.verdict)

    @property
    def sections(self) -> Sequence[tuple[str, Sequence[Block]]]:
        """The titles and blocks that show the difference."""
        return sections_of(self.scope, self.verdict, self.path, self.inside, self.events)

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """All rows, by the name of their query."""
        found = {PATH: self.path, INSIDE: self.inside, EVENTS: self.events}
        return {name: rows for name, rows in found.items() if rows is not None}

    def as_json(self) -> dict[str, object]:
        """Return everything, as in diff.json: times in ns, the rows as lists of objects."""
        lengths = self.scope.lengths_ns or (None, None)
        return {
            "a": {**asdict(self.scope.a), "length_ns": lengths[0]},
            "b": {**asdict(self.scope.b), "length_ns": lengths[1]},
            "diff_ns": self.diff_ns,
            "steps": None if self.steps is None else self.steps.as_json(),
            "verdict": dict(self.verdict),
            "notes": list(self.scope.notes),
            **{name: _records(rows) for name, rows in self.tables.items()},
        }

    def save(self, folder: str | PathLike[str]) -> Written:
        """Write diff.html, diff.json and a CSV file for each table into a folder; return what is there now.

        Raises
        ------
        InputError
            The folder has no name, or cannot be written.
        """
        title = f"{self.scope.a.title} → {self.scope.b.title}"
        return write_difference(
            title, self.sections, self.tables, self.as_json(), named_folder(folder), self.progress
        )

    def __repr__(self) -> str:
        said = "" if self.diff_ns is None else f": {format_ns(self.diff_ns)}"
        return f"<Difference from {self.scope.a.title} to {self.scope.b.title}{said}>"


def compare(answers: Answers, a: Side, b: Side, progress: Progress = silent) -> Difference:
    """Compare A with B.

    Raises
    ------
    InputError
        A and B are the same, or there is no such run, rank or step.
    StoreError
        The server failed.
    """
    scope = choose(answers.of, a, b)
    asked = {EVENTS: _values(answers, EVENTS, scope.a.values, scope.b.values)}
    if scope.window_a is not None and scope.window_b is not None:
        windows = [
            {"run": side.run, **asdict(window)}
            for side, window in ((scope.a, scope.window_a), (scope.b, scope.window_b))
        ]
        asked |= {name: _values(answers, name, *windows) for name in (PATH, INSIDE)}
    rows = answers.of_all(asked)
    path, inside = rows.get(PATH), rows.get(INSIDE)
    steps = find_steps(answers.of, a, b, scope)
    verdict = judge(scope, path, inside, rows[EVENTS], steps)
    return Difference(scope, path, inside, rows[EVENTS], verdict, steps, progress)


def _values(
    answers: Answers, name: str, of_a: Mapping[str, object], of_b: Mapping[str, object]
) -> dict[str, object]:
    return fill(answers.of, find(name), together(of_a, of_b))


def _records(rows: pd.DataFrame) -> list[dict[str, object]]:
    return [
        {str(name): plain(value) for name, value in row.items()}
        for row in rows.astype(object).to_dict("records")
    ]
