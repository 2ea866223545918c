"""The files of a difference: a page, the numbers, and the rows of every table."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from tracegraph.base.progress import Progress
from tracegraph.workbench.output.csv_files import rows_csv
from tracegraph.workbench.output.folder import Written, summary_of_earlier, write_files
from tracegraph.workbench.output.page import Shown, sections_page
from tracegraph.workbench.sections.blocks import Block

PAGE, NUMBERS = "diff.html", "diff.json"


def write_difference(
    title: str,
    sections: Sequence[tuple[str, Sequence[Block]]],
    tables: Mapping[str, pd.DataFrame],
    numbers: Mapping[str, object],
    folder: Path,
    progress: Progress,
) -> Written:
    """Write diff.html, diff.json and `NAME.csv` for each table.

    Raises:
        InputError: the folder cannot be written.
    """
    shown = [Shown(f"part{place}", *section) for place, section in enumerate(sections)]
    few = {name: value for name, value in numbers.items() if name not in tables}
    makers = {
        NUMBERS: partial(_write, lambda: json.dumps(numbers, indent=1)),
        **{f"{name}.csv": partial(_write, partial(rows_csv, rows)) for name, rows in tables.items()},
        PAGE: partial(
            _write, lambda: sections_page(title, "What differs from A to B", shown, (NUMBERS, few))
        ),
    }
    return write_files(makers, folder, progress, _earlier_files)


def _earlier_files(folder: Path) -> Iterable[str]:
    """The tables of an earlier difference in a folder: each is a list in its diff.json."""
    numbers = summary_of_earlier(folder / NUMBERS, "a", "b", "diff_ns", "verdict") or {}
    tables = (name for name, value in numbers.items() if isinstance(value, list) and name != "notes")
    return [f"{name}.csv" for name in tables if name == os.path.basename(name)]


def _write(text: Callable[[], str], out: BinaryIO) -> None:
    out.write(text().encode())
