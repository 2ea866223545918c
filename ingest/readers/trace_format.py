"""What a format of trace files is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from tracegraph.ingest.findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.readers.chrome_text import ChromeDocument, ChromeText
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.trace import TraceFile

Split = Callable[[SourceFile, Limits], ChromeDocument]
Write = Callable[[ChromeDocument, BinaryIO], int]


@dataclass(frozen=True)
class TraceFormat:
    """One format: how its files are known, and how they are read; None for what cannot be done with it.

    Whatever is gzip is unpacked before a format sees it.
    """

    name: str
    """For people."""
    suffixes: tuple[str, ...]
    """How names of its files end, with `.gz` where they are usually packed; the first is the usual one."""
    sniff: Callable[[bytes], bool]
    """Whether a file whose content begins with these bytes is one."""
    read: Callable[[SourceFile, Integrity, Limits], TraceFile]
    """The trace in a file. What is dropped, repaired or odd in a way that the columns do not show goes to
    the findings; `integrity.trace_checks` looks at the columns. InputError when it cannot be read."""
    chrome_text: Callable[[SourceFile], ChromeText] | None = None
    """The file as text that Perfetto opens, for the overlay; of a damaged one what can be read."""
    split: Split | None = None
    """The file for `convert`; InputError where something of it would be lost."""
    write: Write | None = None
    """Write a file of this format for `convert`; returns the number of entries."""

    @property
    def endings(self) -> tuple[str, ...]:
        """The suffixes without those that only add to another."""
        return tuple(
            suffix
            for suffix in self.suffixes
            if not any(suffix != other and suffix.endswith(other) for other in self.suffixes)
        )
