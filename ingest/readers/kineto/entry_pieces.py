"""Takes a long list of entries apart piece by piece, so that they are counted before they fill the memory.

An entry of two bytes takes sixty as an object: a list of nothing would take thirty times its text.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import msgspec
from msgspec import Raw

from tracegraph.ingest.limits import Limits
from tracegraph.ingest.readers.file_bytes import Content
from tracegraph.ingest.readers.kineto.document import check_entries

PIECE = 1 << 20
"""Bytes that a piece has at least; one that is twice as long is not looked for."""
_TRIES = 16
_OPEN, _CLOSE = b"[]"
_BETWEEN_OBJECTS = re.compile(rb"\}\s*(,)(?=\s*\{)")
_COMMA = re.compile(rb"(,)")
_decode_list = msgspec.json.Decoder(list[Raw]).decode


def cut_pieces(path: Path, text: Content, begin: int, limits: Limits) -> tuple[list[Raw], int]:
    """Entries of the list that begins at `begin`, after its bracket, and the place where the others begin.

    All but the last MiB or two, unless the list is odd. Raises InputError for more than `limits.events`.
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
        check_entries(path, len(events), limits)
        begin = end + 1
    return events, begin


def may_exceed(text: Content, limits: Limits) -> bool:
    """Whether a list in a long text could have more than `limits.events` entries: it has the commas."""
    if len(text) <= 4 * PIECE:
        return False
    pieces = (bytes(text[start : start + PIECE]) for start in range(0, len(text), PIECE))
    return sum(piece.count(b",") for piece in pieces) >= limits.events


def _ends(text: Content, begin: int) -> Iterator[int]:
    """Places of commas that may stand between two entries, the likelier ones first."""
    within = begin + PIECE, begin + 2 * PIECE
    likely, others = (pattern.finditer(text, *within) for pattern in (_BETWEEN_OBJECTS, _COMMA))
    return (found.start(1) for found in chain(islice(likely, _TRIES), islice(others, _TRIES)))


def _decode_piece(text: Content, begin: int, end: int) -> list[Raw] | None:
    """Entries between two separators; None where what stands there is no list of whole entries.

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
