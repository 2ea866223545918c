"""A path in few pieces: the longest stretches as they are, what lies between them merged."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

_SAME = ["lane", "name", "category"]
_TINY_SHARE = 0.001
_FEW = 20


@dataclass(frozen=True)
class Piece:
    """A part of the path in time order.

    `kept`: neighbouring rows of one name on one lane; otherwise whatever lies between two kept pieces, on
    `lanes` lanes, beginning on `lane`. `dependency` and `mechanism` say how the path came to the first row.
    """

    kept: bool
    lane: int
    lanes: int
    name: str
    category: str
    dependency: str
    mechanism: str
    rows: int
    duration_ns: int


def collapse(path: pd.DataFrame, most: int) -> list[Piece]:
    """Return at most `most` pieces that tile the path (PATH_COLUMNS), as many of them kept as fit.

    Stretches below a thousandth of the path are kept only while there are few.
    """
    stretches = _stretches(path)
    lengths = stretches["duration_ns"].to_numpy()
    order = np.argsort(-lengths, kind="stable")
    worth = int((lengths >= _TINY_SHARE * lengths.sum()).sum())
    least, greatest = 0, min(len(order), most, max(worth, _FEW))
    while least < greatest:
        middle = (least + greatest + 1) // 2
        if _starts(_mask(order, middle)).sum() <= most:
            least = middle
        else:
            greatest = middle - 1
    kept = _mask(order, least)
    groups = stretches.assign(kept=kept).groupby(_starts(kept).cumsum(), sort=False)
    pieces = groups.agg(
        kept=("kept", "first"),
        lane=("lane", "first"),
        lanes=("lane", "nunique"),
        name=("name", "first"),
        category=("category", "first"),
        dependency=("dependency", "first"),
        mechanism=("mechanism", "first"),
        rows=("rows", "sum"),
        duration_ns=("duration_ns", "sum"),
    )
    return [Piece(*row) for row in pieces.itertuples(index=False, name=None)]


def _stretches(path: pd.DataFrame) -> pd.DataFrame:
    """Return neighbouring rows of one name on one lane as one row each."""
    rows = path.assign(duration_ns=path["end_ns"] - path["start_ns"])
    changed = rows[_SAME].ne(rows[_SAME].shift()).any(axis=1)
    return rows.groupby(changed.cumsum().to_numpy(), sort=False).agg(
        lane=("lane", "first"),
        name=("name", "first"),
        category=("category", "first"),
        dependency=("dependency", "first"),
        mechanism=("mechanism", "first"),
        rows=("lane", "size"),
        duration_ns=("duration_ns", "sum"),
    )


def _mask(order: npt.NDArray[np.intp], count: int) -> npt.NDArray[np.bool_]:
    mask = np.zeros(len(order), dtype=bool)
    mask[order[:count]] = True
    return mask


def _starts(kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return where a piece begins: at each kept stretch and right after one."""
    after = np.roll(kept, 1)
    after[:1] = True
    return np.logical_or(kept, after)
