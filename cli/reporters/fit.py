"""Makes a table fit the width: names are cut first, then the last columns are left out."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

BETWEEN = 2
"""Cells between two columns."""
_LEAST = 24
"""A column of texts is not cut to fewer cells than this."""


@dataclass(frozen=True)
class Fit:
    """The widths of the columns that are shown, which are the first ones; `is_cut`: whether texts are cut."""

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
    for count in range(len(titles), 0, -1):
        widths = _narrowed(needed[:count], titles, texts, width - BETWEEN * (count - 1))
        if sum(widths) + BETWEEN * (count - 1) <= width or count == 1:
            return Fit(widths, widths != needed[:count])
    return Fit([], is_cut=False)


def _narrowed(needed: Sequence[int], titles: Sequence[str], texts: Sequence[bool], room: int) -> list[int]:
    """Take cells from the widest column of texts until all fit or none can be narrower."""
    widths = list(needed)
    least = [max(_LEAST, cell_len(title)) for title in titles]
    while sum(widths) > room:
        wide = [place for place, cells in enumerate(widths) if texts[place] and cells > least[place]]
        if not wide:
            break
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths
