"""Durations and bytes as text, for sentences that are stored."""

_SCALES = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))
_BYTES = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))


def told(ns: float) -> str:
    """Write a duration in ns with three digits and the unit that suits it, as `12.3 ms`."""
    for scale, unit in _SCALES:
        if abs(ns) >= scale:
            return f"{float(f'{ns / scale:.3g}'):,g} {unit}"
    return f"{ns:.0f} ns"


def told_bytes(count: int) -> str:
    """Write a number of bytes with three digits and the unit that suits it, as `12.3 MB`."""
    for scale, unit in _BYTES:
        if count >= scale:
            return f"{float(f'{count / scale:.3g}'):,g} {unit}"
    return f"{count} B"
