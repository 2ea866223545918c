"""A path in few pieces: long stretches alone, runs on one lane collapsed, the shortest pieces merged."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracegraph.vocabulary.categories import GAP

_LONG_SHARE = 0.01
_TINY_SHARE = 0.001
_FEW = 20
_PARTS = 3

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Part:
    """What the rows of one name add to a piece."""

    name: str
    category: str
    rows: int
    duration_ns: int


@dataclass(frozen=True)
class Piece:
    """A part of the path in time order.

    `kept`: a long stretch, or a run of stretches on one lane; `parts` are its largest, by name. Otherwise
    whatever lies between two kept pieces, on `lanes` lanes, beginning on `lane`, without `parts`.
    `dependency` and `mechanism` say how the path came to the first row.
    """

    kept: bool
    lane: int
    lanes: int
    dependency: str
    mechanism: str
    rows: int
    duration_ns: int
    parts: tuple[Part, ...]

    @property
    def category(self) -> str:
        """Category that stands for the piece: that of its largest part that is no gap, if it has one."""
        return next((part.category for part in self.parts if part.category != GAP), GAP)


def collapse(path: pd.DataFrame, most: int) -> list[Piece]:
    """Return at most `most` pieces that tile the path (PATH_COLUMNS), the longest of them kept."""
    rows = path.assign(duration_ns=path["end_ns"] - path["start_ns"], rows=1)
    same = ["lane", "name", "category"]
    stretches = _merge(rows, _changes(rows[same]))
    lengths = stretches["duration_ns"].to_numpy()
    is_long = lengths >= _LONG_SHARE * lengths.sum()
    runs = _changes(stretches[["lane"]]) | is_long | _after(is_long)
    kept = _choose(_merge(stretches, runs)["duration_ns"].to_numpy(), most)
    run_of_stretch = runs.cumsum() - 1
    piece_of_run = (kept | _after(kept)).cumsum() - 1
    stretches = stretches.assign(piece=piece_of_run[run_of_stretch], kept=kept[run_of_stretch])
    parts = _parts(stretches[stretches["kept"]])
    sums = stretches.groupby("piece").agg(
        lanes=("lane", "nunique"), rows=("rows", "sum"), duration_ns=("duration_ns", "sum")
    )
    first = stretches.drop_duplicates("piece").set_index("piece")
    pieces = first[["kept", "lane", "dependency", "mechanism"]].join(sums)
    records = cast("list[dict[str, Any]]", pieces.to_dict("records"))
    return [Piece(**row, parts=parts.get(place, ())) for place, row in enumerate(records)]


def _choose(lengths: npt.NDArray[np.int64], most: int) -> Mask:
    """Return which runs are kept: the longest, as many as give at most `most` pieces.

    Runs below a thousandth of the path are kept only while there are few.
    """
    order = np.argsort(-lengths, kind="stable")
    worth = int((lengths >= _TINY_SHARE * lengths.sum()).sum())
    least, greatest = 0, min(len(order), most, max(worth, _FEW))
    while least < greatest:
        middle = (least + greatest + 1) // 2
        kept = _mask(order, middle)
        if (kept | _after(kept)).sum() <= most:
            least = middle
        else:
            greatest = middle - 1
    return _mask(order, least)


def _parts(stretches: pd.DataFrame) -> dict[int, tuple[Part, ...]]:
    """Return the largest parts of each piece."""
    kind = ["piece", "name", "category"]
    groups = stretches.groupby(kind, observed=True)[["rows", "duration_ns"]].sum().reset_index()
    # Categories would be sorted by their codes.
    named = groups.astype({"name": object, "category": object})
    order = {"piece": True, "duration_ns": False, "name": True, "category": True}
    largest = named.sort_values(list(order), ascending=list(order.values()))
    parts: dict[int, tuple[Part, ...]] = {}
    for piece, *part in largest.groupby("piece", sort=True).head(_PARTS).itertuples(index=False, name=None):
        parts[piece] = (*parts.get(piece, ()), Part(*part))
    return parts


def _merge(rows: pd.DataFrame, starts: Mask) -> pd.DataFrame:
    """Return each group of rows as one; a group begins where `starts` is true."""
    first = np.flatnonzero(starts)
    sums = {name: np.add.reduceat(rows[name].to_numpy(), first) for name in ("rows", "duration_ns")}
    return rows.iloc[first].assign(**sums)


def _changes(values: pd.DataFrame) -> Mask:
    return values.ne(values.shift()).any(axis=1).to_numpy(dtype=bool)


def _after(mask: Mask) -> Mask:
    """Return which rows follow one in the mask; the first row does."""
    after = np.roll(mask, 1)
    after[:1] = True
    return after


def _mask(order: npt.NDArray[np.intp], count: int) -> Mask:
    mask = np.zeros(len(order), dtype=bool)
    mask[order[:count]] = True
    return mask
