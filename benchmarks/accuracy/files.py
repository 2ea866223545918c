"""The contents of the path of every real file, and what files with much unknown time lack."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchmarks.accuracy.evidence import describe_unknown
from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.paths import read_model
from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.path_rows import path_rows
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.queries.shapes.path.unclear_time import unclear_parts
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.gaps import UNKNOWN
from tracegraph.workbench.findings.findings import NEAR_TIE_NS

MUCH_UNKNOWN = 0.08
"""A file in which more of the path is unknown, 0..1, is described by what it holds."""
_SHOWN = 0.0005
"""The least share of a gap that is listed: a smaller one would read as 0.000."""
_SUFFIXES = (".json", ".json.gz")


@dataclass(frozen=True)
class Measured:
    """One file: shares of the path's length, its findings, and facts if much is unknown."""

    name: str
    length_ns: int
    gaps: "pd.Series[float]"
    untraced: float
    unclear: float
    inferred: float
    near_ties: float
    errors: int
    warnings: int
    facts: str

    @property
    def unknown(self) -> float:
        """The share of the length for which no rule has a cause."""
        return float(self.gaps.get(UNKNOWN, 0.0))


@dataclass(frozen=True)
class Refused:
    """A file that cannot be read, and why."""

    name: str
    reason: str


def kineto_files(folder: Path) -> list[Path]:
    """List every file below `folder` whose name is that of a Kineto trace."""
    return sorted(path for path in folder.rglob("*") if path.name.endswith(_SUFFIXES))


def measure(folder: Path, path: Path) -> Measured | Refused:
    """Measure the path of one file."""
    name = path.relative_to(folder).as_posix()
    try:
        return _measure(name, *read_model(path))
    except InputError as error:
        return Refused(name, error.message.replace(str(path), path.name))


def _measure(name: str, model: Model, integrity: Integrity) -> Measured:
    rows = path_rows(model)
    length = model.window.end - model.window.start
    share = (rows["end_ns"] - rows["start_ns"]) / length
    is_gap = rows["category"] == GAP
    unclear = unclear_parts(rows["name"], rows["category"], is_gap)
    gaps = share[is_gap].groupby(rows["name"][is_gap]).sum().sort_values(ascending=False)
    levels = [finding.level for finding in integrity]
    return Measured(
        name=name,
        length_ns=length,
        gaps=gaps,
        untraced=float(share[unclear["untraced_share"]].sum()),
        unclear=float(share[unclear["unclear_share"]].sum()),
        inferred=float(share[rows["evidence"] == "inferred"].sum()),
        near_ties=float(share[(rows["margin_ns"] <= NEAR_TIE_NS).fillna(False)].sum()),
        errors=levels.count("error"),
        warnings=levels.count("warning"),
        facts=describe_unknown(model, rows) if float(gaps.get(UNKNOWN, 0.0)) > MUCH_UNKNOWN else "",
    )


def describe_files(measured: Sequence[Measured | Refused]) -> str:
    """Write the Markdown: a table of all files, those that cannot be read, and facts if much is unknown."""
    read = [item for item in measured if isinstance(item, Measured)]
    refused = [[item.name, item.reason] for item in measured if isinstance(item, Refused)]
    columns = ["file", "length", "events", UNKNOWN, "untraced", "unclear", "other gaps"]
    parts = [table([*columns, "inferred", "near-ties", "errors, warnings"], map(_row, read))]
    if refused:
        parts.append("Not read:\n\n" + table(["file", "why"], refused))
    parts += [f"**{item.name}**, unknown {item.unknown:.3f}. {item.facts}" for item in read if item.facts]
    return "\n\n".join(parts)


def _row(item: Measured) -> list[str]:
    named = item.gaps.drop(UNKNOWN, errors="ignore")
    others = [f"{name} {share:.3f}" for name, share in named.items() if share >= _SHOWN]
    shares = [1 - item.gaps.sum(), item.unknown, item.untraced, item.unclear]
    return [
        item.name,
        f"{item.length_ns / 1e6:,.1f} ms",
        *(f"{share:.3f}" for share in shares),
        ", ".join(others) or "–",
        f"{item.inferred:.3f}",
        f"{item.near_ties:.3f}",
        f"{item.errors}, {item.warnings}",
    ]
