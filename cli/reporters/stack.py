"""Draws the parts of a whole as a bar of signs that can be read without colours, and a row for each."""

from collections.abc import Sequence
from itertools import accumulate

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tracegraph.workbench.sections.blocks import Stack
from tracegraph.workbench.sections.cells import said_faster
from tracegraph.workbench.text.text import format_share, label

_SIGNS = "█▓▒░=#+-:"
"""What each part of the bar is drawn with, the largest first; later ones share the last sign."""
_LAST = "·"
_CELLS, _WORD_CELLS, _INDENT = 90, 40, 4
"""The longest bar, the longest name of a part, and what an indented text has less of a line."""
MOST_ROWS = 6
"""How many parts have a row and a sign, where there is room."""


def stack_bar(stack: Stack, width: int, rows: int = MOST_ROWS) -> RenderableType:
    """Return the bar and the table of its parts in `rows` rows below it, for a terminal of `width` cells."""
    listed = stack.listed(rows)
    return Group(_bar(listed, _drawn(listed, min(_CELLS, width - _INDENT))), _rows(listed))


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


def _rows(stack: Stack) -> RenderableType:
    """Say what each sign of the bar is, its share, and how fast the whole would be without it."""
    rows = Table(box=None, pad_edge=False, header_style="dim")
    rows.add_column("part")
    rows.add_column("of the path", justify="right")
    if any(part.faster is not None for part in stack.parts):
        rows.add_column("without it", justify="right")
    for place, part in enumerate(stack.parts):
        drawn = part.length_ns > 0
        share = format_share(part.length_ns / max(1, stack.whole_ns)) if drawn else ""
        word = f"{_sign(place) if drawn else ' '} {label(part.word, _WORD_CELLS)}"
        rows.add_row(*(word, share, said_faster(part))[: len(rows.columns)])
    return rows
