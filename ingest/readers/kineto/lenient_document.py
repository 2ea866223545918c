"""The way through a damaged document: event by event, and on to the next one after a broken one.

It runs only if the strict decoder refuses the text. It says what was lost and where the first case is.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.chrome_text import Batch
from tracegraph.ingest.readers.kineto.document import BATCH, Facts, TopLevel, read_facts
from tracegraph.ingest.readers.unpacking import Content

_STRING_OR_CONSTANT = re.compile(rb'"(?:[^"\\]|\\.)*"|-?Infinity|NaN', re.DOTALL)
_WINDOW = 4_096
"""Bytes of the first window that is decoded at a value; it grows while the value may go on."""
_LONGEST_WORD = len("-Infinity")
_KEY = rb'"(?:ph|cat|name|pid|tid|ts|dur|id|args|s|bp|tts|tdur|cname|bind_id)"\s*:'
_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_EVENT = re.compile(rb"\{\s*" + _KEY)
# Two runs of white space never stand side by side: the time to fail would grow with their length squared.
_NEXT_EVENT = re.compile(rb"(?:\}\s*(?:,\s*)?|\n[ \t]*)(?=\{\s*" + _KEY + rb")")
_SPACE = re.compile(rb"\s*")
_SEPARATOR = re.compile(rb"[\s,]*")
_OBJECT, _END_OF_LIST = b"{]"


class ValueScanner:
    """Scans values of up to `longest` bytes; `constants` counts NaN and infinite numbers in them.

    The text stays bytes, of which one window at a time is decoded: as one str it might take five times as
    much.
    """

    def __init__(self, text: Content, longest: int) -> None:
        self.constants = 0
        self._text, self._longest = text, longest
        self._scan = json.JSONDecoder(strict=False, parse_constant=self._count_constant).raw_decode

    def value_at(self, at: int, before: bytes = b"") -> bytes | None:
        """Read the value at `at`, of which `before` is the beginning; None if it is broken or too long.

        It decodes a window that grows while the value may go on, since an error costs as much as there is
        text before it: over the whole text, many broken events would take hours.
        """
        size = _WINDOW
        while True:
            # Surrogates keep bytes that are not UTF-8, so that the text can be given back.
            window = (before + self._text[at : at + size]).decode("utf-8", "surrogateescape")
            try:
                return window[: self._scan(window)[1]].encode("utf-8", "surrogateescape")
            except json.JSONDecodeError as error:
                near_end = error.pos >= len(window) - _LONGEST_WORD
                goes_on = near_end or error.msg.startswith("Unterminated string")
                if not goes_on or at + size >= len(self._text) or size >= self._longest:
                    return None
                size = min(16 * size, self._longest)
            except (ValueError, RecursionError):
                return None

    def _count_constant(self, _: str) -> None:
        self.constants += 1


def without_constants(text: bytes) -> bytes:
    """Replace NaN and Infinity in the text by null."""
    return _STRING_OR_CONSTANT.sub(lambda found: found[0] if found[0][:1] == b'"' else b"null", text)


class LenientDocument:
    """A document that is read as far as possible."""

    def __init__(self, path: Path, data: Content, integrity: Integrity) -> None:
        self._path, self._text, self._integrity = path, data, integrity
        self._head, self._start, self._is_list = _find_list(path, data)
        self._end = self._start
        self._broken = self._not_finite = 0
        self._first_broken = (0, 0)  # source index, place in the text
        self._first_not_finite = 0
        self._lossless = True
        self._scanner = ValueScanner(data, integrity.limits.entry)

    def batches(self) -> Iterator[Batch]:
        """Yield events in the order of the file; positions are exact up to the first broken event."""
        texts: list[bytes] = []
        positions: list[int] = []
        for position, text in self._events():
            texts.append(text)
            positions.append(position)
            if len(texts) == BATCH:
                yield Batch(texts, positions)
                texts, positions = [], []
        yield Batch(texts, positions)
        self._state_losses()

    def facts(self) -> Facts:
        """Read rank, devices and versions, as far as the text around the list is whole."""
        document = self._document()
        if document is None:
            self._lossless = False
            message = "the keys after the list of events are lost"
            self._integrity.add("top_level_broken", 1, message)
            document = self._head[: self._integrity.limits.entry].lstrip() + b"[]}"
        message = "the text is not quite valid JSON, as with a comma too many; no entry is lost"
        self._integrity.add("json_repaired", int(self._lossless), message)
        try:
            return read_facts(msgspec.json.decode(without_constants(document), type=TopLevel))
        except (msgspec.MsgspecError, RecursionError):
            return Facts()

    def _document(self) -> bytes | None:
        """Read the text around the list with an empty list in it; None if it is broken or too long."""
        if len(self._head) > self._integrity.limits.entry:
            return None
        opening = self._head.lstrip() + b"["
        if self._end >= len(self._text):  # the list is cut, or its lines have no bracket
            return opening + (b"]}" if self._head else b"]")
        document = self._scanner.value_at(self._end, opening)
        if document is not None:
            self._state_rest(self._end + len(document) - len(opening))
        return document

    def _state_rest(self, place: int) -> None:
        if _end_of(_SPACE, self._text, place) == len(self._text):
            return
        self._lossless = False
        message = f"text after the end of the document, from byte {place} on, is ignored"
        entries = sum(1 for _ in _EVENT.finditer(self._text, place))
        if entries:
            message = (
                f"entries stand after the end of the document, from byte {place} on, as when files are "
                "joined; they are not read, their time is unknown"
            )
            self._integrity.add("events_after_end", entries, message)
        else:
            self._integrity.add("text_after_end", 1, message)

    def _events(self) -> Iterator[tuple[int, bytes]]:
        text, at, position = self._text, self._start, 0
        while True:
            at = _end_of(_SEPARATOR, text, at)
            if at >= len(text) or (text[at] == _END_OF_LIST and self._is_list):
                break
            constants = self._scanner.constants
            value = self._scanner.value_at(at)
            if value is None:
                self._first_broken = self._first_broken if self._broken else (position, at)
                self._broken += 1
                at = self._next_event(at)
            else:
                at += len(value)
                if self._scanner.constants != constants:
                    self._first_not_finite = self._first_not_finite if self._not_finite else position
                    self._not_finite += 1
                    value = without_constants(value)
                yield position, value
            position += 1
            self._integrity.limits.check_events(self._path, position)
        self._end = at

    def _next_event(self, broken: int) -> int:
        """Find the place of the first event that can be recognised after the broken text at `broken`."""
        if self._text[broken] != _OBJECT:  # such as a comment: the event after it is whole
            following = _EVENT.search(self._text, broken)
            return following.start() if following else len(self._text)
        following = _NEXT_EVENT.search(self._text, broken + 1)
        return following.end() if following else len(self._text)

    def _state_losses(self) -> None:
        add = self._integrity.add
        cut = self._is_list and self._end >= len(self._text)
        self._lossless = not (self._broken or self._not_finite or cut)
        if self._broken:
            position, at = self._first_broken
            message = (
                f"events that are not valid JSON are skipped, the first at source index {position}, "
                f"byte {at}; source indices after it count what could be recognised"
            )
            add("event_broken", self._broken, message)
        if self._not_finite:
            first = self._first_not_finite
            message = f"events hold NaN or Infinity, read as absent; the first at source index {first}"
            add("number_not_finite", self._not_finite, message)
        message = (
            f"the list of events is not closed: the text is cut at byte {len(self._text)}; "
            "how much time is missing after it is unknown"
        )
        add("json_cut", int(cut), message)


def _find_list(path: Path, text: Content) -> tuple[bytes, int, bool]:
    """Find the list of events: the text before its bracket, the place after it, and whether it has one.

    Without a bracket, each line is an event.
    """
    start = _end_of(_SPACE, text, 0)
    first = bytes(text[start : start + 1])
    if first == b"[":
        return b"", start + 1, True
    match = _LIST.search(text) if first == b"{" else None
    if match is not None:
        return bytes(text[: match.end() - 1]), match.end(), True
    if _EVENT.match(text, start):
        return b"", start, False
    shown = bytes(text[:20]).decode("ascii", "backslashreplace")
    raise InputError(
        f"{path} is no trace: it starts with {shown!r} and holds no list traceEvents",
        "pass the JSON that export_chrome_trace wrote, plain or as gzip",
    )


def _end_of(pattern: re.Pattern[bytes], text: Content, at: int) -> int:
    """Find the place after the match of `pattern` at `at`, which may be empty."""
    match = pattern.match(text, at)
    return match.end() if match else at
