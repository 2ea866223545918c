"""How much a trace may hold: a larger file is refused, or cut, instead of filling the memory."""

from dataclasses import dataclass, field
from pathlib import Path

from tracegraph.base.errors import InputError
from tracegraph.base.machine import memory_mib

_MIB = 1 << 20
MEMORY_OF_A_BYTE = 6
"""Bytes of memory that a byte of text takes until its run is stored: 5.6 with a trace of 388 MB."""
MEMORY_OF_AN_ENTRY = 2048
"""Bytes of memory that an entry takes until its run is stored: 2.1 kB each with 1.05 million."""
PACKED = ".gz"
"""How the name of a packed file ends."""
MOST_UNPACKED = 4 * 2**30
"""Bytes of text that no default limit exceeds, however much memory a machine has."""
MOST_EVENTS = 20_000_000
"""Entries that no default limit exceeds on any machine: hardly a file of that size is a trace."""


def _unpacked() -> int:
    return min(memory_mib() * _MIB // MEMORY_OF_A_BYTE, MOST_UNPACKED)


def _events() -> int:
    return min(memory_mib() * _MIB // MEMORY_OF_AN_ENTRY, MOST_EVENTS)


@dataclass(frozen=True)
class Limits:
    """Bounds on one file; the defaults fit the memory that this process may use."""

    unpacked: int = field(default_factory=_unpacked)
    """Bytes of the file's text after unpacking."""
    events: int = field(default_factory=_events)
    """Entries of the file's list of events."""
    entry: int = 4 * 2**20
    """Bytes of one entry; a longer one is skipped and counted."""
    threads: int = 2_000
    """Number of threads and streams that have events."""
    text: int = 65_536
    """Characters of one name or other text; a longer one is cut and counted."""

    def check_unpacked(self, file: Path | str, size: int) -> None:
        """Raise InputError if a file holds more bytes of text than `unpacked`."""
        if size > self.unpacked:
            raise InputError(
                f"{file} holds more than {self.unpacked:,} bytes of text",
                "record fewer steps, or raise the limit with --limit unpacked=SIZE "
                f"where there is {MEMORY_OF_A_BYTE} times as much memory",
            )

    def check_events(self, file: Path | str, count: int) -> None:
        """Raise InputError if a file has more entries than `events`."""
        if count > self.events:
            raise InputError(
                f"{file} holds more than {self.events:,} entries",
                "record fewer steps, or raise the limit with --limit events=N",
            )


DEFAULT_LIMITS = Limits()
