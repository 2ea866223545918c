"""Text from traces and numbers for people: hostile characters made visible, long names cut, units chosen."""

import unicodedata
from collections.abc import Sequence

from rich.cells import cell_len

from tracegraph.base.units import DURATIONS, in_unit, three_digits

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_FORMULA = frozenset("=+-@＝＋－＠")
_NOTHING_SHOWN = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that look like a space."""
_KEPT_IN_CSV = frozenset("\t\n\r")
_AMOUNTS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
ELLIPSIS = "…"
MOST_RANKS = 12
"""How many ranks in full a sentence lists by their numbers."""


def visible(text: str) -> str:
    """Return `text` with every control, direction, invisible and line-breaking character as an escape.

    What is left prints as itself: no terminal sequence, no reordering, no second line.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if unicodedata.category(char) in _HIDDEN else char for char in text)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shorten(text: str, width: int) -> str:
    """Return `text` cut in the middle to at most `width` terminal cells; both ends of a name tell most."""
    if len(text) <= width and cell_len(text) <= width:
        return text
    head, tail = (width - 1) // 2, width - 1 - (width - 1) // 2
    left, right = text[:head], text[-tail:] if tail else ""
    while cell_len(left) > head:
        left = left[:-1]
    while cell_len(right) > tail:
        right = right[1:]
    return f"{left}{ELLIPSIS}{right}"


def label(text: str, width: int) -> str:
    """Return a name from a trace as one safe line of at most `width` cells."""
    return shorten(visible(text[: 4 * width] + text[-4 * width :] if len(text) > 8 * width else text), width)


def csv_text(text: str) -> str:
    """Return `text` so that every CSV reader takes it: many refuse NUL, which becomes its picture."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}")


def csv_safe(text: str) -> str:
    """Return `text` so that a spreadsheet runs no formula and a terminal obeys nothing in it.

    A text that looks like a formula, also behind what nobody sees, gets an apostrophe. Control characters but
    tabs and line breaks become escapes, such as that of ESC.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(
            _escape(char) if unicodedata.category(char) == "Cc" and char not in _KEPT_IN_CSV else char
            for char in csv_text(text)
        )
    seen = next((char for char in text if not _is_unseen(char)), "")
    return f"'{text}" if seen in _FORMULA else text


def _is_unseen(char: str) -> bool:
    """Whether a reader may skip a character before what it takes for the text: spaces, marks and the like."""
    return unicodedata.category(char)[0] in "ZCM" or char in _NOTHING_SHOWN


def format_ns(value: float) -> str:
    """Return a duration in ns with the unit that suits its size, such as `12.345 ms`."""
    found = in_unit(value, DURATIONS)
    return f"{value:,.0f} ns" if found is None else f"{found[0]:,.3f} {found[1]}"


def format_rate(value: float) -> str:
    """Write how many of something there are in a second, in four digits without exponent: `655,400`."""
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"


def format_amount(value: float) -> str:
    """Return a number with the letter of its thousands, such as `1.5 T`; under a thousand as it is."""
    found = in_unit(value, _AMOUNTS)
    return three_digits(value) if found is None else f"{three_digits(found[0])} {found[1]}"


def format_share(share: float) -> str:
    """Return a share (0..1) in per cent; a part is never shown as nothing or as the whole."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if 0.999 < share < 1 else f"{100 * share:.1f} %"


def format_times(ratio: float) -> str:
    """By how many times, with three digits; near 1 with one more, as `1.005`, which a small gain is."""
    return f"{ratio:.4g}" if 0.9 < ratio < 1.1 else f"{ratio:.3g}"


def the_first(numbers: Sequence[int], most: int) -> str:
    """Return numbers with commas, such as `1, 5, 17 and 3 more` where there are more than `most`."""
    more = f" and {len(numbers) - most:,} more" if len(numbers) > most else ""
    return ", ".join(map(str, numbers[:most])) + more


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return the count and its noun, such as `1 stretch` or `1,234 stretches`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"
