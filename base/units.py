"""Durations as text, for sentences that are stored."""

_SCALES = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))


def told(ns: float) -> str:
    """Write a duration in ns with three digits and the unit that suits it, as `12.3 ms`."""
    for scale, unit in _SCALES:
        if abs(ns) >= scale:
            return f"{float(f'{ns / scale:.3g}'):,g} {unit}"
    return f"{ns:.0f} ns"
