"""Draws the parts of a whole as one bar of signs that can be read without colours, and says what each is."""

from collections.abc import Sequence
from itertools import accumulate

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from tracegraph.workbench.sections.blocks import Stack
from tracegraph.workbench.text.text import format_share, label

_SIGNS = "█▓▒░=#+-:"
"""What each part of the bar is drawn with, the largest first; later ones share the last sign."""
_LAST = "·"
_CELLS, _WORD_CELLS, _INDENT = 90, 40, 4
"""The longest bar, the longest name of a part, and what an indented text has less of a line."""


def stack_bar(stack: Stack, width: int) -> RenderableType:
    """Return the bar and the words below it, for a terminal of `width` cells."""
    drawn = _drawn(stack, min(_CELLS, width - _INDENT))
    return Group(_bar(stack, drawn), _legend(stack, drawn, width - _INDENT))


def _sign(place: int) -> str:
    return _SIGNS[place] if place < len(_SIGNS) else _LAST


def _drawn(stack: Stack, cells: int) -> list[int]:
    """Return how many cells each part takes; their ends are rounded, so that the bar has its length."""
    ends = [
        round(cells * end / max(1, stack.whole_ns)) for end in accumulate(p.length_ns for p in stack.parts)
    ]
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]


def _bar(stack: Stack, drawn: Sequence[int]) -> Text:
    bar = Text()
    for place, (part, cells) in enumerate(zip(stack.parts, drawn, strict=True)):
        bar.append(_sign(place) * cells, style=part.colour)
    return bar


def _legend(stack: Stack, drawn: Sequence[int], cells: int) -> Text:
    """Say what each sign of the bar is; a sign stays on one line with its name and its share."""
    lines = [""]
    for place, part in enumerate(stack.parts):
        if not drawn[place]:
            continue  # what the bar does not show needs no sign
        share = format_share(part.length_ns / max(1, stack.whole_ns))
        words = f"{_sign(place)} {label(part.word, _WORD_CELLS)} {share}"
        if lines[-1] and cell_len(lines[-1]) + 3 + cell_len(words) > cells:
            lines.append("")
        lines[-1] += f"   {words}" if lines[-1] else words
    return Text("\n".join(lines))
