"""What the path is made of under other assumptions about dependencies, in shares of its length."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.gaps import UNKNOWN
from tracegraph.workbench.findings.findings import Findings

_HOTSPOTS = 3
"""How many of the longest names are compared under each assumption."""


@dataclass(frozen=True)
class Assumption:
    """One assumption: a policy between threads, or recorded edges only; all shares are 0..1 of the path.

    `chosen`: whether the run itself uses it. `same`: whether the path consists of the same as under the run's
    own assumption. `events`, `named_gaps`, `unknown`: what the path consists of. `inferred`: the part whose
    start follows from an inferred dependency. `hotspots`: names and shares of the longest, at most 3.
    """

    name: str
    chosen: bool
    same: bool
    events: float
    named_gaps: float
    unknown: float
    inferred: float
    hotspots: tuple[tuple[str, float], ...]


def read_assumptions(findings: Findings) -> tuple[Assumption, ...]:
    """Read the alternatives of a run, its own assumption first; empty for a report on one step."""
    return tuple(_read(findings, row) for row in findings.alternatives)


def _content(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in ("assumption", "chosen")}


def _read(findings: Findings, row: Mapping[str, Any]) -> Assumption:
    gaps = findings.share(row["by_category_ns"].get(GAP, 0))
    unknown = findings.share(row["by_gap_ns"].get(UNKNOWN, 0))
    return Assumption(
        name=str(row["assumption"]),
        chosen=bool(row["chosen"]),
        same=_content(row) == _content(findings.alternatives[0]),
        events=1 - gaps,
        named_gaps=gaps - unknown,
        unknown=unknown,
        inferred=findings.share(row["inferred_ns"]),
        hotspots=tuple(
            (str(spot["name"]), findings.share(spot["duration_ns"])) for spot in row["hotspots"][:_HOTSPOTS]
        ),
    )
