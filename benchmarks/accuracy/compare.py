"""One path against the truth: the oracle's score, and how much of what was missed hangs on a near-tie."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchmarks.accuracy.sets import OracleSet, Row, Scorer, read_json
from tracegraph.cli.findings import NEAR_TIE_NS

GOOD = 0.999
"""Recall and overlap from which a set counts as right."""
_ROUNDING_NS = 2000
_SCORES = ("total", "tiling", "recall", "precision", "overlap", "pointwise")


@dataclass(frozen=True)
class Stretch:
    """Time of true events that a path gives to something else, and whether it lies behind a near-tie."""

    length_ns: int
    reported: bool


@dataclass(frozen=True)
class Result:
    """What one set scored; `missed` is empty and `worst` (event, ns) too where it scored `GOOD`."""

    of: OracleSet
    total: float
    tiling: float
    recall: float
    precision: float
    overlap: float
    pointwise: float
    missed: tuple[Stretch, ...]
    worst: tuple[tuple[str, int], ...]

    @property
    def least(self) -> float:
        """The lower of recall and overlap."""
        return min(self.recall, self.overlap)

    @property
    def missed_ns(self) -> int:
        """All the time missed."""
        return sum(stretch.length_ns for stretch in self.missed)

    @property
    def near_tie_share(self) -> float:
        """The share of the time missed that lies behind a near-tie."""
        reported = sum(stretch.length_ns for stretch in self.missed if stretch.reported)
        return reported / self.missed_ns if self.missed else 1.0

    @property
    def longest_unreported_ns(self) -> int:
        """The longest stretch missed without a near-tie."""
        return max((stretch.length_ns for stretch in self.missed if not stretch.reported), default=0)


def compare(of: OracleSet, path: pd.DataFrame, scorer: Scorer) -> Result:
    """Score `path` (source_index, start_ns, end_ns, margin_ns) against the truth of its set."""
    truth = read_json(of.truth)
    columns = (path[name].astype("int64").tolist() for name in ("start_ns", "end_ns", "source_index"))
    rows: list[Row] = [(s, e, None if i < 0 else (0, i)) for s, e, i in zip(*columns, strict=True)]
    found = scorer.score(truth, rows, [of.trace])
    missed: tuple[Stretch, ...] = ()
    worst: tuple[tuple[str, int], ...] = ()
    if min(found["recall"], found["overlap"]) < GOOD:
        near = (path["margin_ns"] <= NEAR_TIE_NS).fillna(False).astype(bool).tolist()
        missed, worst = missed_stretches(scorer.truth_rows(truth), rows, near), _name(of, found["worst"])
    return Result(of, **{name: found[name] for name in _SCORES}, missed=missed, worst=worst)


def missed_stretches(true: Sequence[Row], ours: Sequence[Row], near: Sequence[bool]) -> tuple[Stretch, ...]:
    """Stretches of true events that `ours` gives to something else; both in time order.

    The path is chosen backwards: what is missed between two stretches on which both agree hangs on the
    choice that our row of the later one made, and `near` says whether that row reports a near-tie. Up to
    2 µs in a row are the rounding of the file's times, not a miss.
    """
    points = sorted({p for start, end, _ in [*true, *ours] for p in (start, end)})
    i, k = len(true) - 1, len(ours) - 1
    found = [Stretch(0, reported=False)]
    for begin, end in zip(points[-2::-1], points[:0:-1], strict=True):
        while i >= 0 and true[i][0] >= end:
            i -= 1
        while k >= 0 and ours[k][0] >= end:
            k -= 1
        want = true[i][2] if i >= 0 and true[i][1] >= end else None
        mine = ours[k][2] if k >= 0 and ours[k][1] >= end else None
        if want is None:
            continue
        if want == mine:
            found.append(Stretch(0, near[k]))
        else:
            found[-1] = Stretch(found[-1].length_ns + end - begin, found[-1].reported)
    return tuple(stretch for stretch in found if stretch.length_ns > _ROUNDING_NS)


def _name(of: OracleSet, worst: list[dict[str, Any]]) -> tuple[tuple[str, int], ...]:
    events = read_json(of.trace)["traceEvents"]
    return tuple((f"#{w['event']} {events[w['event']]['name']}", int(w["missed_ns"])) for w in worst)
