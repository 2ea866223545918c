"""How long stretches of time that overlap are open in windows, each moment counted once."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

Ints = npt.NDArray[np.int64]


class Union:
    """The time in which at least one of some stretches is open; times in ns.

    Attributes
    ----------
    begin, end
        The stretches joined where they touch, by time.
    """

    def __init__(self, begin: Ints, end: Ints) -> None:
        order = np.argsort(begin, kind="stable")
        begin, end = begin[order], np.maximum.accumulate(end[order])
        opens = np.append(True, begin[1:] > end[:-1])[: len(begin)]
        closes = np.append(opens[1:], True)[: len(begin)]
        self.begin, self.end = begin[opens], end[closes]
        self._done = np.append(0, np.cumsum(self.end - self.begin))

    def joined(self, begin: Ints, end: Ints) -> "Union":
        """Return the union of these stretches and more."""
        return Union(np.append(self.begin, begin), np.append(self.end, end))

    def inside(self, start: Ints, end: Ints) -> Ints:
        """Return how much of each window lies in it, ns."""
        return self._before(end) - self._before(start)

    def _before(self, at: Ints) -> Ints:
        last = np.searchsorted(self.begin, at, "right") - 1
        if not len(self.begin):
            return np.zeros(len(at), dtype=np.int64)
        begun = np.clip(at - self.begin[last], 0, (self.end - self.begin)[last])
        return np.where(last >= 0, self._done[last] + begun, 0)


def nothing() -> Ints:
    """Return no times."""
    return np.empty(0, dtype=np.int64)


def unfolded(lists: Iterable[list[int]]) -> Ints:
    """Put the numbers of lists one after the other."""
    found = [np.asarray(one, dtype=np.int64) for one in lists]
    return np.concatenate([nothing(), *found])


def each_entry(rows: pd.DataFrame, lists: Sequence[str]) -> pd.DataFrame:
    """Make a row of each entry of lists of numbers, which are equally long in each row."""
    sizes = rows[lists[0]].map(len).to_numpy("int64")
    found = rows.drop(columns=list(lists)).take(np.repeat(np.arange(len(rows)), sizes))
    return found.reset_index(drop=True).assign(**{name: unfolded(rows[name]) for name in lists})


def open_beyond(begin: Ints, end: Ints, less_begin: Ints, less_end: Ints) -> tuple[Ints, Ints]:
    """Find when more of some stretches than of others, each inside one of the first, are open.

    Parameters
    ----------
    begin, end
        The bounds of the outer stretches, ns.
    less_begin, less_end
        The bounds of the inner ones, ns.

    Returns
    -------
    tuple
        Begins and ends, ns.
    """
    at = np.concatenate([begin, end, less_begin, less_end])
    sizes = (len(begin), len(end), len(less_begin), len(less_end))
    change = np.repeat(np.array([1, -1, -1, 1]), sizes)
    order = np.argsort(at, kind="stable")
    at, is_open = at[order], np.cumsum(change[order]) > 0
    last = np.append(at[1:] > at[:-1], True)[: len(at)]
    at, is_open = at[last], is_open[last]
    return at[:-1][is_open[:-1]], at[1:][is_open[:-1]]
