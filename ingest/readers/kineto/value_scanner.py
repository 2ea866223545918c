"""Finds where a JSON value in damaged text ends; takes NaN and Infinity, which are no JSON."""

import json
import re

from tracegraph.ingest.readers.file_bytes import Content

_STRING_OR_CONSTANT = re.compile(rb'"(?:[^"\\]|\\.)*"|-?Infinity|NaN', re.DOTALL)
_WINDOW = 4_096
_LONGEST_WORD = len("-Infinity")


class ValueScanner:
    """Scans values of up to `longest` bytes; `constants` counts what was NaN or infinite in them.

    The text stays bytes, of which a window is decoded at a time: as one str it might take five times as much.
    """

    def __init__(self, text: Content, longest: int) -> None:
        self.constants = 0
        self._text, self._longest = text, longest
        self._scan = json.JSONDecoder(strict=False, parse_constant=self._count_constant).raw_decode

    def value_at(self, at: int, before: bytes = b"") -> bytes | None:
        """The value at `at`, of which `before` is the beginning; None if it is broken, or too long.

        Looks at a window that grows while the value may go on, since an error costs as much as there is
        text before it: over the whole text, many broken events would take hours.
        """
        size = _WINDOW
        while True:
            # surrogates keep bytes that are no UTF-8, so that the text can be given back
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
    """The text with null for NaN and Infinity."""
    return _STRING_OR_CONSTANT.sub(lambda found: found[0] if found[0][:1] == b'"' else b"null", text)
