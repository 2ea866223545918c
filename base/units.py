"""Amounts in the unit that suits them, with the three digits that say how much it is."""

from collections.abc import Sequence

DURATIONS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))
"""Units of durations, the largest first: how many ns each has, and its sign."""
_BYTES = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))


def in_unit(value: float, units: Sequence[tuple[float, str]]) -> tuple[float, str] | None:
    """Return an amount in the first unit that it reaches, with that unit's sign; None below all of them."""
    return next(((value / scale, sign) for scale, sign in units if abs(value) >= scale), None)


def three_digits(value: float) -> str:
    """Write a number with the three digits that say how large it is, such as `12.3`, and `1,234` in full."""
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def short_ns(value: float) -> str:
    """Return a duration in ns in the unit that suits it, with three digits, such as `12.3 ms`."""
    found = in_unit(value, DURATIONS)
    return f"{value:,.0f} ns" if found is None else f"{three_digits(found[0])} {found[1]}"


def format_bytes(count: int) -> str:
    """Return a size in the unit that suits it, with three digits, such as `1.5 MB`; 1 MB is 10^6 bytes."""
    found = in_unit(count, _BYTES)
    if found is None:
        return f"{count:,} byte{'' if count == 1 else 's'}"
    return f"{three_digits(found[0])} {found[1]}"
