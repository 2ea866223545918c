"""Amounts in the unit that suits them; durations and bytes as text, for sentences that are stored."""

from collections.abc import Sequence

DURATIONS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))
"""Units of durations, the largest first: how many ns each has, and its sign."""
_BYTES = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))


def in_unit(value: float, units: Sequence[tuple[float, str]]) -> tuple[float, str] | None:
    """Return an amount in the first unit that it reaches, with that unit's sign; None below all of them."""
    return next(((value / scale, sign) for scale, sign in units if abs(value) >= scale), None)


def told(ns: float) -> str:
    """Write a duration in ns with three digits and the unit that suits it, as `12.3 ms`."""
    found = in_unit(ns, DURATIONS)
    return f"{ns:.0f} ns" if found is None else _three_digits(*found)


def told_bytes(count: int) -> str:
    """Write a number of bytes with three digits and the unit that suits it, as `12.3 MB`."""
    found = in_unit(count, _BYTES)
    return f"{count} B" if found is None else _three_digits(*found)


def _three_digits(value: float, unit: str) -> str:
    return f"{float(f'{value:.3g}'):,g} {unit}"
