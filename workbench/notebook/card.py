"""Renders the blocks of a card as HTML that needs nothing else and runs nothing.

A notebook's theme need not be the one that the system prefers, so that a card takes ink and background from
what is around it, and its own colours are readable on white and on black.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

from tracegraph.base.units import short_ns
from tracegraph.workbench.pictures.palette import tint
from tracegraph.workbench.sections.blocks import Block, Part, Stack, Table
from tracegraph.workbench.sections.cells import cell_text, said_faster
from tracegraph.workbench.sections.shown_names import ShownNames
from tracegraph.workbench.text.markup import coded, safe_text
from tracegraph.workbench.text.text import format_share, label

_PLACE = files("tracegraph.workbench.notebook")
_NAME_CELLS = 40
"""How many cells the name of a part of a bar may take before it is shortened."""
_MOST_PARTS = 8
"""How many parts of a bar have a name; the others are one part."""
_ROOM = 0.12
"""A part of a bar holds its name from this share on, 0..1."""


@dataclass(frozen=True)
class OneLength:
    """A length in ns drawn as a bar; `size` is said behind it.

    `possible`: the least and the most that it may be, ns. `told`: a sentence below it.
    """

    word: str
    length_ns: int
    size: str
    possible: tuple[int, int] | None = None
    told: str = ""
    command: str = ""


@dataclass(frozen=True)
class Lengths:
    """Lengths one below the other, as parts of `whole_ns`."""

    title: str
    lengths: Sequence[OneLength]
    whole_ns: int


Shown = Block | Lengths


@dataclass(frozen=True)
class _Part:
    """A part of a stacked bar: its width in per cent, and whether its name has room in it."""

    name: str
    size: str
    width: float
    colour: str
    is_wide: bool


def card(title: str, blocks: Sequence[Shown]) -> str:
    """Return the card as text; text of a trace is only text in it, escaped and of limited length."""
    names = ShownNames(block for block in blocks if isinstance(block, Table))
    return _template().render(
        title=title, blocks=blocks, cell=lambda value, kind: cell_text(kind, value, names)
    )


def _parts(stack: Stack) -> list[_Part]:
    """Cut a bar into its largest parts, and one for all others."""
    parts = stack.listed(_MOST_PARTS).parts
    return [_part(one, one.length_ns / max(1, stack.whole_ns)) for one in parts]


def _part(one: Part, share: float) -> _Part:
    sizes = [short_ns(one.length_ns), format_share(share)] if one.length_ns else []
    size = " · ".join([*sizes, *([f"without it {said_faster(one)}"] if one.faster else [])])
    return _Part(label(one.word, _NAME_CELLS), size, _percent(share), tint(one.colour), share >= _ROOM)


def _percent(share: float) -> float:
    """Return a share as a width of a bar, which ends where its whole does."""
    return round(100 * min(max(share, 0), 1), 2)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "kind": lambda block: type(block).__name__,
        "duration": short_ns,
        "safe_text": safe_text,
        "coded": coded,
        "parts": _parts,
        "percent": lambda length_ns, whole_ns: _percent(length_ns / max(1, whole_ns)),
    }
    # It is a file of our own; escaped, it would be no style.
    environment.globals["style"] = Markup(_read("card.css"))
    return environment.from_string(_read("card.html.j2"))


def _read(name: str) -> str:
    return (_PLACE / name).read_text(encoding="utf-8")
