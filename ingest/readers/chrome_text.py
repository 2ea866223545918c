"""Traces as text in the Chrome trace event format: a JSON list of entries, and the text around it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from tracegraph.base.errors import InputError
from tracegraph.ingest.microseconds import literal_to_ns

RawEntry = Raw | bytes


@dataclass(frozen=True)
class Batch:
    """Texts of entries, and the position of each in the file's list."""

    texts: Sequence[RawEntry]
    positions: Sequence[int]


@dataclass(frozen=True)
class ChromeDocument:
    """The document in a file: the text before its list of entries, the entries in order, the text after."""

    path: Path
    head: bytes
    batches: Iterable[Batch]
    tail: bytes


@dataclass(frozen=True)
class ChromeText:
    """The text of a whole document, and the places of the brackets around its list of entries."""

    text: memoryview
    begin: int
    end: int

    @property
    def entries(self) -> memoryview:
        """The text of the list, brackets included."""
        return self.text[self.begin : self.end + 1]


def join_text(document: ChromeDocument) -> ChromeText:
    """Write a document in one piece."""
    entries = b",\n".join(bytes(text) for batch in document.batches for text in batch.texts)
    text = document.head + b"[" + entries + b"]" + document.tail
    return ChromeText(memoryview(text), len(document.head), len(document.head) + 1 + len(entries))


class _Times(Struct, gc=False):
    ts: Raw = Raw(b"null")
    dur: Raw = Raw(b"null")


_decode_times = msgspec.json.Decoder(_Times).decode


def time_literals(text: RawEntry) -> tuple[str, str]:
    """Find `ts` and `dur` of an entry as they are written; empty if it cannot be read as a whole."""
    try:
        times = _decode_times(text)
    except msgspec.MsgspecError:  # what an event's own decoder does not look at may be broken
        return "", ""
    return _digits(times.ts), _digits(times.dur)


def written_span(text: RawEntry) -> tuple[int, int] | None:
    """Find start and end of an entry as written, in ns; None if it has none."""
    start, length = (literal_to_ns(literal) for literal in time_literals(text))
    return None if start is None or length is None else (start, start + length)


def _digits(number: Raw) -> str:
    return bytes(number).decode("ascii", "replace").strip('"')


def lossy(path: Path, reason: str) -> InputError:
    """Make the error for a file of which a copy in another format would lose something."""
    return InputError(
        f"{path} cannot be converted without loss: {reason}",
        "`tracegraph report` reads damaged traces and says what is lost",
    )
