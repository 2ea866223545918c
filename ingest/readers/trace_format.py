"""What a format of trace files is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.chrome_text import ChromeDocument, ChromeText
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.trace import TraceFile

Split = Callable[[SourceFile], ChromeDocument]
Write = Callable[[ChromeDocument, BinaryIO], int]


def _anything(_: SourceFile) -> bool:
    return True


@dataclass(frozen=True)
class TracePart:
    """One rank of a file: what the file calls it, and the function that reads its trace alone."""

    name: str
    read: Callable[[Integrity], TraceFile]


Parts = Callable[[SourceFile, Integrity], Sequence[TracePart]]


def read_only_part(parts: Parts, source: SourceFile, integrity: Integrity) -> TraceFile:
    """Read the trace of a file that `parts` takes apart; InputError for a file of several ranks."""
    found = parts(source, integrity)
    if len(found) > 1:
        names = ", ".join(part.name for part in found[:8])
        raise InputError(
            f"{source.path} holds {len(found)} ranks: processes {names}", "report on it as the job that it is"
        )
    return found[0].read(integrity)


@dataclass(frozen=True)
class TraceFormat:
    """One format: how its files are recognised and read; None for what cannot be done with it.

    A file that is gzip is unpacked before a format sees it.
    """

    name: str
    """The name for people."""
    suffixes: tuple[str, ...]
    """How names of its files end, with `.gz` if they are usually packed; the usual ending comes first."""
    sniff: Callable[[bytes], bool]
    """Tells whether a file whose content begins with these bytes has this format."""
    read: Callable[[SourceFile, Integrity], TraceFile]
    """Reads the trace in a file.

    What is dropped, repaired or odd in a way that the columns do not show goes to the findings;
    `integrity.trace_checks` looks at the columns. InputError if the file cannot be read.
    """
    parts: Parts | None = None
    """Takes a file apart that may hold several ranks, in their order; None where a file is one trace."""
    chrome_text: Callable[[SourceFile], ChromeText] | None = None
    """Gives the file as text that Perfetto opens, for the overlay; of a damaged file what can be read."""
    split: Split | None = None
    """Takes the file apart for `convert`; InputError if something of it would be lost."""
    write: Write | None = None
    """Writes a file of this format for `convert`, and returns the number of entries."""
    holds: Callable[[SourceFile], bool] = _anything
    """Tells files apart that begin alike: whether one that `sniff` knows has this format."""

    def is_of(self, source: SourceFile) -> bool:
        """Tell whether a file has this format."""
        return self.sniff(source.head) and self.holds(source)

    @property
    def endings(self) -> tuple[str, ...]:
        """The suffixes without those that only add to another."""
        return tuple(
            suffix
            for suffix in self.suffixes
            if not any(suffix != other and suffix.endswith(other) for other in self.suffixes)
        )
