"""The strict way from JSON text to the texts of its entries: one pass of the decoder, no copies.

A long list of entries is taken apart piece by piece, so that entries are counted before they fill the memory:
an entry of two bytes takes sixty as an object, and a list of empty entries would take thirty times its text.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Raw, Struct, UnsetType

from tracegraph.base.errors import InputError
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.readers.chrome_text import Batch
from tracegraph.ingest.readers.foreign_json import RECORD, refuse_foreign_object
from tracegraph.ingest.readers.kineto.document import BATCH, Facts, TopLevel, read_facts
from tracegraph.ingest.readers.unpacking import Content

PIECE = 1 << 20
"""Bytes that a piece has at least; the end of a piece must follow within as many bytes again."""
# Commas of each kind at which the end of a piece is tried.
_TRIES = 16
_OPEN, _CLOSE = b"[]"
_BETWEEN_OBJECTS = re.compile(rb"\}\s*(,)(?=\s*\{)")
_COMMA = re.compile(rb"(,)")
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_LIST_FIRST = re.compile(rb"\s*\[")
_LIST_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')


def cut_pieces(path: Path, text: Content, begin: int, limits: Limits) -> tuple[list[Raw], int]:
    """Take the entries from the list that begins at `begin`, after its bracket.

    All entries but those of the last MiB or two are taken, unless the list is odd.

    Returns
    -------
    entries, place
        The entries, and the place at which the remaining ones begin.

    Raises
    ------
    InputError
        For more entries than `limits.events`.
    """
    events: list[Raw] = []
    while len(text) - begin > 2 * PIECE:
        for end in _ends(text, begin):
            entries = _decode_piece(text, begin, end)
            if entries is not None:
                break
        else:
            break
        events += entries
        limits.check_events(path, len(events))
        begin = end + 1
    return events, begin


def may_exceed(text: Content, limits: Limits) -> bool:
    """Tell by its commas whether a list in a long text could have more than `limits.events` entries."""
    if len(text) <= 4 * PIECE:
        return False
    pieces = (bytes(text[start : start + PIECE]) for start in range(0, len(text), PIECE))
    return sum(piece.count(b",") for piece in pieces) >= limits.events


def _ends(text: Content, begin: int) -> Iterator[int]:
    """Yield places of commas that may stand between two entries, the likelier ones first."""
    within = begin + PIECE, begin + 2 * PIECE
    likely, others = (pattern.finditer(text, *within) for pattern in (_BETWEEN_OBJECTS, _COMMA))
    return (found.start(1) for found in chain(islice(likely, _TRIES), islice(others, _TRIES)))


def _decode_piece(text: Content, begin: int, end: int) -> list[Raw] | None:
    """Decode the entries between two separators; None if the text is not a list of whole entries.

    The entries are views into the text: a copy with brackets around it would take its memory once more.
    """
    before, after = text[begin - 1], text[end]
    text[begin - 1], text[end] = _OPEN, _CLOSE
    try:
        return _decode_list(text[begin - 1 : end + 1])
    except (msgspec.DecodeError, RecursionError):
        return None
    finally:
        text[begin - 1], text[end] = before, after


class _ListOnly(Struct, gc=False):
    traceEvents: Raw


class StrictDocument:
    """A document that the strict decoder has accepted as a whole; it lets go of the text as it is read."""

    def __init__(self, facts: Facts, events: list[Raw], span: tuple[int, int]) -> None:
        self._facts = facts
        self._events = events
        self._span = span
        """Where in the text the first entry begins and the last one ends."""

    def batches(self) -> list[Batch]:
        """Return events in the order of the file; this works once."""
        events, self._events = self._events, []
        places = range(len(events))
        parts = (slice(start, start + BATCH) for start in places[::BATCH])
        return [Batch(events[part], places[part]) for part in parts]

    def facts(self) -> Facts:
        """Return rank, devices and versions."""
        return self._facts

    def count_other_lists(self, data: Content) -> int:
        """Count other lists of events in the text; the last of equal keys counts. Ask before `batches`."""
        if not self._events or _is_list(data):
            return 0
        first, last = self._span
        return len(_LIST_KEY.findall(data, 0, first)) + len(_LIST_KEY.findall(data, last)) - 1


def parse_strict(path: Path, data: Content, limits: Limits) -> StrictDocument:
    """Split a well-formed document into its events.

    Raises
    ------
    msgspec.DecodeError, RecursionError
        If the text is not well-formed JSON, or if its entries are too many to be taken apart at once.
    InputError
        If it holds no list of events, or more than `limits.events`.
    """
    return _parse_in_pieces(path, data, limits) or _parse_whole(path, data, limits)


def _parse_in_pieces(path: Path, data: Content, limits: Limits) -> StrictDocument | None:
    """Parse a document whose list is taken apart piece by piece; None if it begins in an unusual way.

    What is left if well-formed entries are taken out of the list is well-formed if the document is.
    """
    opening = _LIST_FIRST.match(data) or _LIST_KEY.search(data)
    if opening is None:
        return None
    begin = opening.end()
    events, rest = cut_pieces(path, data, begin, limits)
    if not events or may_exceed(data[rest:], limits):
        return None
    remainder = memoryview(b"".join((data[:begin], data[rest:])))
    document = _parse_whole(path, remainder, limits)
    first, last = document._span
    if bytes(remainder[begin:first]).strip() or first == last:
        return None  # another list of the same key counts, or the key is part of a text
    moved = rest - begin
    return StrictDocument(document._facts, events + document._events, (begin, last + moved))


def _parse_whole(path: Path, data: Content, limits: Limits) -> StrictDocument:
    if may_exceed(data, limits):
        raise msgspec.DecodeError("its entries cannot be told apart piece by piece")
    top = _decode(path, data)
    if isinstance(top.traceEvents, UnsetType):
        refuse_foreign_object(path, msgspec.json.decode(data, type=dict[str, Raw]))
        raise InputError(f"{path} is no trace: the key traceEvents is missing", RECORD)
    events = top.traceEvents
    return StrictDocument(read_facts(top), events, _span(events, data))


def _decode(path: Path, data: Content) -> TopLevel:
    if _is_list(data):
        return TopLevel(traceEvents=msgspec.json.decode(data, type=list[Raw]))
    try:
        return msgspec.json.decode(data, type=TopLevel)
    except msgspec.ValidationError as error:
        raise InputError(f"{path} is no trace: {error}", RECORD) from None


def _is_list(data: Content) -> bool:
    return bool(_LIST_FIRST.match(data))


def locate_list(data: Content) -> tuple[int, int]:
    """Find start and end (byte offsets) of the list of events in a text that `parse_strict` accepts."""
    if _is_list(data):
        events = msgspec.json.decode(data, type=Raw)
    else:
        events = msgspec.json.decode(data, type=_ListOnly).traceEvents
    start = _place(events, data)
    return start, start + len(memoryview(events))


def _span(events: list[Raw], data: Content) -> tuple[int, int]:
    if not events:
        return 0, 0
    return _place(events[0], data), _place(events[-1], data) + len(memoryview(events[-1]))


def _place(raw: Raw, data: Content) -> int:
    """Compute the byte offset of a raw value, which is a view into the text that it was decoded from."""
    return _address(raw) - _address(data)


def _address(text: Raw | Content) -> int:
    return int(np.frombuffer(text, np.uint8).__array_interface__["data"][0])
