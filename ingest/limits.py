"""How much a trace may hold: beyond it a file is refused, or cut, instead of filling the machine."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds on one file, for a machine with 16 GiB or more; raise them where a real trace needs it."""

    unpacked: int = 4 * 2**30
    """Bytes of its text, after unpacking."""
    events: int = 20_000_000
    """Entries of its list."""
    threads: int = 2_000
    """Threads and streams with events."""
    text: int = 65_536
    """Characters of one name or other text; what is longer is cut and counted."""


DEFAULT_LIMITS = Limits()
