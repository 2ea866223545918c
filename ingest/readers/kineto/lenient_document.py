"""The way through a damaged document: event by event, and on to the next one where an event is broken.

Runs only when the strict decoder refuses the text. It says what was lost and where the first case is.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tracegraph.ingest.integrity.findings import Integrity
from tracegraph.ingest.readers.chrome_text import Batch
from tracegraph.ingest.readers.kineto.document import BATCH, Facts, TopLevel, read_facts
from tracegraph.store.errors import InputError

_KEY = r'"(?:ph|cat|name|pid|tid|ts|dur|id|args|s|bp|tts|tdur|cname|bind_id)"\s*:'
_LIST = re.compile(r'"traceEvents"\s*:\s*\[')
_EVENT = re.compile(rf"\{{\s*{_KEY}")
# no two runs of white space side by side: the time to fail would grow with their length squared
_NEXT_EVENT = re.compile(rf"(?:\}}\s*(?:,\s*)?|\n[ \t]*)(?=\{{\s*{_KEY})")
_SPACE = re.compile(r"\s*")
_SEPARATOR = re.compile(r"[\s,]*")
_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity|NaN', re.DOTALL)

_WINDOW = 16_384
_LONGEST_WORD = len("-Infinity")


class LenientDocument:
    """A document read as far as it can be."""

    def __init__(self, path: Path, data: bytes | bytearray, integrity: Integrity) -> None:
        # surrogates keep bytes that are no UTF-8, so that offsets and texts can be given back
        self._text = data.decode("utf-8", "surrogateescape")
        self._integrity = integrity
        self._head, self._start, self._is_list = _find_list(path, self._text)
        self._end = self._start
        self._broken: list[tuple[int, int]] = []  # source index, place in the text
        self._not_finite: list[int] = []
        self._constants = 0
        self._lossless = True
        self._scan = json.JSONDecoder(strict=False, parse_constant=self._count_constant).raw_decode

    def batches(self) -> Iterator[Batch]:
        """Events in the order of the file; positions are exact up to the first broken event."""
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
        """Rank, devices and versions, as far as the text around the list is whole."""
        closing = "]}" if self._head else "]"
        document = (self._head + "[" + (self._text[self._end :] or closing)).lstrip()
        try:
            _, end = self._scan(document)
        except (ValueError, RecursionError):
            self._lossless = False
            message = "the keys after the list of events are lost"
            self._integrity.add("top_level_broken", "warning", 1, message)
            document = f"{self._head}[]}}"
        else:
            self._state_rest(document[end:])
            document = document[:end]
        message = "the text is not quite valid JSON, as with a comma too many; no entry is lost"
        self._integrity.add("json_repaired", "info", int(self._lossless), message)
        try:
            return read_facts(msgspec.json.decode(_without_constants(document), type=TopLevel))
        except (msgspec.MsgspecError, RecursionError):
            return Facts()

    def _state_rest(self, rest: str) -> None:
        if not rest.strip():
            return
        self._lossless = False
        place = self._byte(len(self._text) - len(rest))
        message = f"text after the end of the document, from byte {place} on, is ignored"
        entries = sum(1 for _ in _EVENT.finditer(rest))
        if entries:
            message = (
                f"entries stand after the end of the document, from byte {place} on, as when files are "
                "joined; they are not read, their time is unknown"
            )
            self._integrity.add("events_after_end", "error", entries, message)
        else:
            self._integrity.add("text_after_end", "warning", 1, message)

    def _events(self) -> Iterator[tuple[int, bytes]]:
        text, at, position = self._text, self._start, 0
        while True:
            at = _skip_separators(text, at)
            if at >= len(text) or (text[at] == "]" and self._is_list):
                break
            constants = self._constants
            end = self._end_of_value(at)
            if end is None:
                self._broken.append((position, at))
                at = self._next_event(at)
            else:
                if self._constants == constants:
                    yield position, text[at:end].encode("utf-8", "surrogateescape")
                else:
                    self._not_finite.append(position)
                    yield position, _without_constants(text[at:end])
                at = end
            position += 1
        self._end = at

    def _next_event(self, broken: int) -> int:
        """Place of the first event that can be recognised after the broken text at `broken`."""
        if self._text[broken] != "{":  # a comment, say: the event after it is whole
            following = _EVENT.search(self._text, broken)
            return following.start() if following else len(self._text)
        following = _NEXT_EVENT.search(self._text, broken + 1)
        return following.end() if following else len(self._text)

    def _end_of_value(self, at: int) -> int | None:
        """Place after the JSON value at `at`; None if it is broken.

        Looks at a window that grows while the value may go on, since an error costs as much as there is
        text before it: over the whole text, many broken events would take hours.
        """
        size = _WINDOW
        while True:
            window = self._text[at : at + size]
            try:
                return at + int(self._scan(window)[1])
            except json.JSONDecodeError as error:
                near_end = error.pos >= len(window) - _LONGEST_WORD
                goes_on = near_end or error.msg.startswith("Unterminated string")
                if not goes_on or at + size >= len(self._text):
                    return None
                size *= 64
            except (ValueError, RecursionError):
                return None

    def _count_constant(self, _: str) -> None:
        self._constants += 1

    def _state_losses(self) -> None:
        add = self._integrity.add
        cut = self._is_list and self._end >= len(self._text)
        self._lossless = not (self._broken or self._not_finite or cut)
        if self._broken:
            position, at = self._broken[0]
            message = (
                f"events that are not valid JSON are skipped, the first at source index {position}, "
                f"byte {self._byte(at)}; source indices after it count what could be recognised"
            )
            add("event_broken", "error", len(self._broken), message)
        if self._not_finite:
            first = self._not_finite[0]
            message = f"events hold NaN or Infinity, read as absent; the first at source index {first}"
            add("number_not_finite", "warning", len(self._not_finite), message)
        message = (
            f"the list of events is not closed: the text is cut at byte {self._byte(len(self._text))}; "
            "how much time is missing after it is unknown"
        )
        add("json_cut", "error", int(cut), message)

    def _byte(self, at: int) -> int:
        return len(self._text[:at].encode("utf-8", "surrogateescape"))


def _find_list(path: Path, text: str) -> tuple[str, int, bool]:
    """Text before the bracket of the list of events, the place after it, and whether there is a bracket.

    Without one, each line is an event.
    """
    start = _SPACE.match(text).end()  # type: ignore[union-attr]
    if text.startswith("[", start):
        return "", start + 1, True
    match = _LIST.search(text) if text.startswith("{", start) else None
    if match is not None:
        return text[: match.end() - 1], match.end(), True
    if _EVENT.match(text, start):
        return "", start, False
    shown = text[:20].encode("ascii", "backslashreplace").decode()
    raise InputError(
        f"{path} is no trace: it starts with {shown!r} and holds no list traceEvents",
        "pass the JSON that export_chrome_trace wrote, plain or as gzip",
    )


def _skip_separators(text: str, at: int) -> int:
    gap = _SEPARATOR.match(text, at)
    return gap.end() if gap else at


def _without_constants(text: str) -> bytes:
    """The text with null for NaN and Infinity."""
    clean = _STRING_OR_CONSTANT.sub(lambda found: found[0] if found[0][0] == '"' else "null", text)
    return clean.encode("utf-8", "surrogateescape")
