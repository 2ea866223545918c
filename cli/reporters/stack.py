"""Draws the parts of a whole as one bar of signs that can be read without colours, and says what each is."""

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
    return Group(_bar(stack, min(_CELLS, width - _INDENT)), _legend(stack, width - _INDENT))


def _sign(place: int) -> str:
    return _SIGNS[place] if place < len(_SIGNS) else _LAST


def _bar(stack: Stack, cells: int) -> Text:
    """Draw all parts; their ends are rounded, so that the bar has its length."""
    bar, before = Text(), 0
    for place, part in enumerate(stack.parts):
        after = before + part.length_ns
        drawn = round(cells * after / max(1, stack.whole_ns)) - round(cells * before / max(1, stack.whole_ns))
        bar.append(_sign(place) * drawn, style=part.colour)
        before = after
    return bar


def _legend(stack: Stack, cells: int) -> Text:
    """Say what each sign of the bar is; a sign stays on one line with its name and its share."""
    lines = [""]
    for place, part in enumerate(stack.parts):
        share = format_share(part.length_ns / max(1, stack.whole_ns))
        words = f"{_sign(place)} {label(part.word, _WORD_CELLS)} {share}"
        if lines[-1] and cell_len(lines[-1]) + 3 + cell_len(words) > cells:
            lines.append("")
        lines[-1] += f"   {words}" if lines[-1] else words
    return Text("\n".join(lines))
