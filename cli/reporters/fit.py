"""Makes a table fit the width: names are cut first, then columns are left out, numbers last."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

BETWEEN = 2
"""Cells between two columns."""
_LEAST = 24
"""A column of texts is not cut to fewer cells than this."""


@dataclass(frozen=True)
class Fit:
    """Which `columns` are shown, by their places, and their widths; `is_cut`: whether texts are cut."""

    columns: Sequence[int]
    widths: Sequence[int]
    is_cut: bool


def fit(rows: Sequence[Sequence[str]], titles: Sequence[str], texts: Sequence[bool], width: int) -> Fit:
    """Choose widths for the columns of a table that is at most `width` cells wide.

    Parameters
    ----------
    rows
        The cells as they are shown if there is room for them.
    texts
        Which columns hold texts, which may be cut; numbers never are.
    """
    needed = [
        max([cell_len(title), *(cell_len(row[place]) for row in rows)]) for place, title in enumerate(titles)
    ]
    columns = list(range(len(titles)))
    while columns:
        wanted = [needed[place] for place in columns]
        least = [max(_LEAST, cell_len(titles[place])) for place in columns]
        between = BETWEEN * (len(columns) - 1)
        widths = _narrowed(wanted, least, [texts[place] for place in columns], width - between)
        if sum(widths) + between <= width or len(columns) == 1:
            return Fit(columns, widths, widths != wanted)
        columns.remove(_least_missed(columns, texts))
    return Fit([], [], is_cut=False)


def _least_missed(columns: Sequence[int], texts: Sequence[bool]) -> int:
    """Choose the column that is left out next: the last text but the first one, else the last column."""
    further = [place for place in columns if texts[place]][1:]
    return further[-1] if further else columns[-1]


def _narrowed(needed: Sequence[int], least: Sequence[int], texts: Sequence[bool], room: int) -> list[int]:
    """Take cells from the widest column of texts until all fit or none can be narrower."""
    widths = list(needed)
    while sum(widths) > room:
        wide = [place for place, cells in enumerate(widths) if texts[place] and cells > least[place]]
        if not wide:
            break
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths
