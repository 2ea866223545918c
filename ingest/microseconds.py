"""Microseconds as written in files to exact integer nanoseconds, and back."""

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

import numpy as np

from tracegraph.ingest.arrays import Flags, Floats, Ints

EXACT_FLOAT_US = 2.0**43
"""Below this a float64 of microseconds is nearer to its literal than half a nanosecond."""
LIMIT_US = 2.0**52
"""Times from here on (the year 2112) are not usable; below it differences fit into int64 nanoseconds."""

Number = int | float | None


def to_ns(values: Sequence[Number], literal: Callable[[int], str]) -> tuple[Ints, Flags]:
    """Convert `values` in µs to nanoseconds, and say which of them are usable.

    Whole numbers are exact. A float is exact while it is below `EXACT_FLOAT_US`; of a larger one
    `literal(k)` gives the text of value `k`.

    Returns
    -------
    ns, usable
        int64, 0 for values that are not usable (None, not finite, or beyond `LIMIT_US`); and a flag for each.
    """
    us = _as_float(values)
    usable = np.isfinite(us) & (np.abs(us) < LIMIT_US)
    us = np.where(usable, us, 0.0)
    whole = np.floor(us)
    # The fraction is exact, so only its own rounding counts.
    ns = whole.astype(np.int64) * 1000 + np.rint((us - whole) * 1000).astype(np.int64)
    for k in np.flatnonzero(np.abs(us) >= EXACT_FLOAT_US).tolist():
        if isinstance(values[k], float):
            exact = literal_to_ns(literal(k))
            ns[k] = ns[k] if exact is None else exact
    return ns, usable


def literal_of_ns(ns: int) -> str:
    """Write nanoseconds as a number in µs with three decimals."""
    whole, rest = divmod(abs(ns), 1000)
    return f"{'-' if ns < 0 else ''}{whole}.{rest:03d}"


def literal_to_ns(text: str) -> int | None:
    """Convert a number in µs as written to nanoseconds, halves to even; None if `text` is not a number."""
    try:
        return int((Decimal(text) * 1000).to_integral_value(ROUND_HALF_EVEN))
    except (InvalidOperation, ValueError, OverflowError):
        return None


def _as_float(values: Sequence[Number]) -> Floats:
    try:
        return np.array(values, dtype=np.float64)  # None becomes NaN
    except OverflowError:
        limit = int(LIMIT_US)
        return np.array(
            [limit if isinstance(v, int) and abs(v) > limit else v for v in values], dtype=np.float64
        )
