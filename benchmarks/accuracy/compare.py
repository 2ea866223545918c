"""The comparison of one path with the truth: the oracle's score, and what the report says of misses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchmarks.accuracy.sets import OracleSet, Row, Scorer, read_json
from tracegraph.vocabulary.categories import GPU_WORK, has_role
from tracegraph.workbench.findings.findings import INFERRED, NEAR_TIE_NS

GOOD = 0.999
"""A set is right if its recall and overlap are at least this."""
SURE = 0.9
"""A confidence below this marks a row: the report tells its reader to doubt it."""
_ROUNDING_NS = 2000
"""Stretches up to this long are the rounding of the file's times, and not a miss."""
_SCORES = ("total", "tiling", "recall", "precision", "overlap", "pointwise")


@dataclass(frozen=True)
class Stretch:
    """Time of true events that a path gives to something else, and what is said of the cause behind it.

    `near_tie` says that a second cause follows within 1 µs, `tied` that the margin is 0, and `marked` that
    one of these holds, or that the cause is inferred or has a confidence below `SURE`.
    """

    length_ns: int
    near_tie: bool = False
    tied: bool = False
    marked: bool = False
    confidence: float = 1.0


@dataclass(frozen=True)
class Result:
    """The scores of one set; `missed` and `worst` (event, ns) are empty if it scored `GOOD`.

    `reachable` is the overlap of the true path itself with the lengths that its rows have in the file, which
    is below 1 if those are noisy; it is 1 if the set scored `GOOD`.
    """

    of: OracleSet
    total: float
    tiling: float
    recall: float
    precision: float
    overlap: float
    pointwise: float
    missed: tuple[Stretch, ...]
    worst: tuple[tuple[str, int], ...]
    reachable: float = 1.0

    @property
    def least(self) -> float:
        """The lower of recall and overlap."""
        return min(self.recall, self.overlap)

    @property
    def missed_ns(self) -> int:
        """The length of all that is missed."""
        return sum(stretch.length_ns for stretch in self.missed)

    @property
    def near_tie_share(self) -> float:
        """The share of the time missed that lies behind a near-tie."""
        return self._share(lambda stretch: stretch.near_tie)

    @property
    def tied_share(self) -> float:
        """The share of the time missed that lies behind a start with margin 0."""
        return self._share(lambda stretch: stretch.tied)

    @property
    def marked_share(self) -> float:
        """The share of the time missed that the report marks."""
        return self._share(lambda stretch: stretch.marked)

    @property
    def missed_confidence(self) -> float:
        """The mean confidence of the causes behind misses, weighted by time; 0 without misses."""
        return sum(s.length_ns * s.confidence for s in self.missed) / max(self.missed_ns, 1)

    @property
    def longest_unreported_ns(self) -> int:
        """The longest stretch missed without a near-tie."""
        return max((stretch.length_ns for stretch in self.missed if not stretch.near_tie), default=0)

    def _share(self, said: Callable[[Stretch], bool]) -> float:
        return sum(s.length_ns for s in self.missed if said(s)) / self.missed_ns if self.missed else 1.0


def compare(of: OracleSet, path: pd.DataFrame, scorer: Scorer) -> Result:
    """Score `path` (the columns of `paths.path_in_columns`) against the truth of its set."""
    truth = read_json(of.truth)
    columns = (path[name].astype("int64").tolist() for name in ("start_ns", "end_ns", "source_index"))
    rows: list[Row] = [(s, e, None if i < 0 else (0, i)) for s, e, i in zip(*columns, strict=True)]
    found = scorer.score(truth, rows, [of.trace])
    missed: tuple[Stretch, ...] = ()
    worst: tuple[tuple[str, int], ...] = ()
    reachable = 1.0
    if min(found["recall"], found["overlap"]) < GOOD:
        events, true = read_json(of.trace)["traceEvents"], scorer.truth_rows(truth)
        missed, worst = _as_reported(missed_stretches(true, rows), path), _name(events, found["worst"])
        reachable = reachable_overlap(true, events)
    scores = {name: found[name] for name in _SCORES}
    return Result(of, **scores, missed=missed, worst=worst, reachable=reachable)


def reachable_overlap(true: Sequence[Row], events: Sequence[dict[str, Any]]) -> float:
    """Return the overlap of the true path if GPU rows have the lengths that the file states."""
    lengths: dict[int, int] = {}
    for start, end, at in true:
        if at is not None:
            lengths[at[1]] = lengths.get(at[1], 0) + end - start
    works = [at for at in lengths if has_role(events[at].get("cat"), *GPU_WORK)]
    recorded = {at: round(events[at]["dur"] * 1000) for at in works}
    reached = sum(min(length, recorded.get(at, length)) for at, length in lengths.items())
    return reached / max(sum(lengths.values()), 1)


def _as_reported(stretches: Sequence[tuple[int, int]], path: pd.DataFrame) -> tuple[Stretch, ...]:
    """Join the missed stretches with what is said of the rows of `path` that they depend on."""
    near = path["margin_ns"].le(NEAR_TIE_NS).fillna(False).to_numpy(bool)
    tied = path["margin_ns"].eq(0).fillna(False).to_numpy(bool)
    confidence = path["confidence"].fillna(1.0).to_numpy(float)
    marked = near | path["evidence"].eq(INFERRED).to_numpy(bool) | (confidence < SURE)
    return tuple(
        Stretch(length, bool(near[row]), bool(tied[row]), bool(marked[row]), float(confidence[row]))
        if row >= 0
        else Stretch(length)
        for length, row in stretches
    )


def missed_stretches(true: Sequence[Row], ours: Sequence[Row]) -> list[tuple[int, int]]:
    """List the stretches of true events that `ours` gives to something else, the last first.

    Both paths are in time order. Each stretch has its length in ns and the position of the row of `ours`
    that it depends on: the path is chosen backwards, so what is missed between two stretches on which both
    agree depends on the cause that we bind the later one to (-1 if there is no later one). Up to 2 µs in a
    row are the rounding of the file's times, not a miss.
    """
    points = sorted({p for start, end, _ in [*true, *ours] for p in (start, end)})
    i, k = len(true) - 1, len(ours) - 1
    found = [(0, -1)]
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
            found.append((0, k))
        else:
            found[-1] = found[-1][0] + end - begin, found[-1][1]
    return [stretch for stretch in found if stretch[0] > _ROUNDING_NS]


def _name(events: Sequence[dict[str, Any]], worst: list[dict[str, Any]]) -> tuple[tuple[str, int], ...]:
    return tuple((f"#{w['event']} {events[w['event']]['name']}", int(w["missed_ns"])) for w in worst)
