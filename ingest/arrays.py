"""Types of numpy arrays, as columns and choices of rows have them."""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]


def shifted(index: Ints, by: int) -> Ints:
    """Add `by` to all indices but negative ones, which stand for none."""
    return np.where(index >= 0, index + by, index)
