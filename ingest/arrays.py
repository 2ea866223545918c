"""Types of numpy arrays, as columns and choices of rows have them."""

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]
Terms = npt.NDArray[np.int8]
"""Positions in a short list of the vocabulary, as of gaps: an eighth of the memory of `Ints`.

Sums with them may be too large for 8 bits: see `placed_behind`.
"""


def as_terms(codes: npt.NDArray[np.integer[Any]]) -> Terms:
    """Store positions in a list of the vocabulary in 8 bits each."""
    return codes.astype(np.int8, copy=False)


def placed_behind(others: int, terms: Terms) -> Ints:
    """Find the positions if the list stands behind so many others."""
    return np.add(terms, others, dtype=np.int64)


def shifted(index: Ints, by: int) -> Ints:
    """Add `by` to all indices but negative ones, which stand for none."""
    return np.where(index >= 0, index + by, index)
