"""The files of `tracegraph report --output`: all are first written under temporary names, then moved."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.base.progress import Progress
from tracegraph.queries.shapes.path.sums import sum_by
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.output.csv_files import rows_csv, write_path_csv
from tracegraph.workbench.output.overlay import write_overlay
from tracegraph.workbench.output.page import report_page
from tracegraph.workbench.output.summary import summary_text
from tracegraph.workbench.pictures.drawing import draw
from tracegraph.workbench.pictures.path import path_picture
from tracegraph.workbench.sections.section import all_sections

_SUMMARY = "summary.json"
_OVERLAY = re.compile(r"overlay(_rank\d+)?\.json\.gz", re.ASCII)


@dataclass(frozen=True)
class Written:
    """What is in the folder now, and why each missing file is missing."""

    files: tuple[str, ...]
    left_out: dict[str, str]


def write_folder(findings: Findings, folder: Path, progress: Progress) -> Written:
    """Write every file of the report into `folder`, which is created if it is not there.

    Each file appears whole or not at all; other files in the folder stay as they are. A file of an earlier
    report is removed if this one has none of that name: it would be about something else.

    Raises
    ------
    InputError
        The folder cannot be written.
    """
    makers: dict[str, Callable[[BinaryIO], object]] = {
        _SUMMARY: lambda out: out.write(summary_text(findings).encode()),
        "critical_path.csv": partial(write_path_csv, findings.path),
        **_tables(findings),
        "critical_path.svg": lambda out: out.write(draw(_picture(findings), "svg")),
        "report.html": lambda out: out.write(report_page(findings).encode()),
        **_overlays(findings),
    }
    return write_files(makers, folder, progress, _earlier_files)


def named_folder(folder: str | PathLike[str]) -> Path:
    """Return the folder to write into.

    Raises
    ------
    InputError
        The name is empty, which would mean the current folder.
    """
    if not fspath(folder).strip():
        raise InputError("the name of the folder is empty", "give one, or . for the current folder")
    return Path(folder)


def summary_of_earlier(file: Path, *keys: str) -> Mapping[str, object] | None:
    """Read a file of numbers that an earlier command wrote; None if it is not one or lacks one of `keys`."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and set(keys) <= found.keys() else None


def write_files(
    makers: Mapping[str, Callable[[BinaryIO], object]],
    folder: Path,
    progress: Progress,
    earlier_files: Callable[[Path], Iterable[str]] = lambda _: (),
) -> Written:
    """Write each file by its name; one that cannot be made is left out, as is an older one of that name.

    `earlier_files` finds the names in the folder that an earlier command of this kind wrote; they are
    removed, too.

    Raises
    ------
    InputError
        The folder cannot be written.
    """
    left_out: dict[str, str] = {}
    earlier = set(earlier_files(folder)) - makers.keys()
    with _temporary_names(folder, makers) as names:
        for done, (name, make) in enumerate(makers.items()):
            progress(f"writing {name}", done, len(makers))
            try:
                with names[name].open("wb") as out:
                    make(out)
            except InputError as error:
                left_out[name] = str(error)
        for name in (*earlier, *left_out):
            (folder / name).unlink(missing_ok=True)
        for name in makers:
            if name not in left_out:
                names[name].replace(folder / name)
    return Written(tuple(name for name in makers if name not in left_out), left_out)


def _earlier_files(folder: Path) -> list[str]:
    """Find the names in a folder that an earlier report has; none if no report was written there."""
    if summary_of_earlier(folder / _SUMMARY, "run", "window_ns", "critical_path") is None:
        return []
    tables = {f"{name}.csv" for name in all_sections()}
    return [name for name in os.listdir(folder) if name in tables or _OVERLAY.fullmatch(name)]


def _overlays(findings: Findings) -> dict[str, Callable[[BinaryIO], object]]:
    """Make an overlay of each file of the run: the rank with most of the path first, the others by number.

    A rank in short has none: what of its file the path runs through is not known.
    """
    on_path = sum_by(findings.path, "rank")
    full = [source for source in findings.details.sources if not source.in_short]
    sources = sorted(full, key=lambda one: (-on_path.get(str(one.rank), 0), one.rank))
    names = ("overlay.json.gz", *(f"overlay_rank{source.rank}.json.gz" for source in sources[1:]))
    return {name: partial(write_overlay, findings, one) for name, one in zip(names, sources, strict=True)}


def _tables(findings: Findings) -> dict[str, Callable[[BinaryIO], object]]:
    """Make a CSV file for each section that has rows: its own, or those of its first table."""
    makers: dict[str, Callable[[BinaryIO], object]] = {}
    for name, section in all_sections().items():
        if section.rows is not None:
            makers[f"{name}.csv"] = partial(_write_own, section.rows, findings)
        elif tables := section.tables(findings):
            makers[f"{name}.csv"] = partial(_write_rows, tables[0])
    return makers


def _write_own(rows: Callable[[Findings], pd.DataFrame], findings: Findings, out: BinaryIO) -> None:
    _write_rows(rows(findings), out)


def _write_rows(rows: pd.DataFrame, out: BinaryIO) -> None:
    out.write(rows_csv(rows).encode())


def _picture(findings: Findings) -> str:
    return path_picture(findings.details.name, str(findings.part), findings.path, findings.lanes)


@contextmanager
def _temporary_names(folder: Path, files: Iterable[str]) -> Iterator[dict[str, Path]]:
    """Give each file a temporary name in the folder; files that still have it at the end are removed."""
    names = {name: folder / f".{name}.{os.getpid()}" for name in files}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield names
    except OSError as error:
        raise InputError(
            f"cannot write into {folder}: {error.strerror or error}", "choose another folder with --output"
        ) from error
    finally:
        with suppress(OSError):
            for path in names.values():
                path.unlink(missing_ok=True)
