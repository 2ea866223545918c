"""Series of operations of which ranks recorded different numbers: by how many one is behind the other."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tracegraph.ingest.arrays import Ints

_FEWEST, _TIMES_NEARER = 4, 4.0
_MOST_PLACES = 1 << 24


def find_shift(shorter: Sequence[int], longer: Sequence[int]) -> int | None:
    """With how many of the `longer` series the `shorter` one begins; both are ends of operations, ns.

    All members leave an operation together, so the right one leaves the difference of the ends nearly the
    same throughout, whatever the clocks. None where no shift does so far better than all others.
    """
    ours, theirs = np.array(shorter, dtype=np.int64), np.array(longer, dtype=np.int64)
    shifts = len(theirs) - len(ours) + 1
    if len(ours) < _FEWEST or shifts * len(ours) > _MOST_PLACES:
        return None
    apart: Ints = sliding_window_view(theirs, len(ours)) - ours
    middle = np.median(apart, axis=1, keepdims=True)
    spread = np.median(np.abs(apart - middle), axis=1)
    order = np.argsort(spread, kind="stable")
    best, second = order[0], order[1]
    return int(best) if _TIMES_NEARER * max(spread[best], 1) <= spread[second] else None
