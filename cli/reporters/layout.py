"""Building blocks of the report in the terminal."""

import sys

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table

_PIPED_WIDTH = 100


def open_console() -> Console:
    """Return the terminal, or a page wide enough for the tables where the output is piped."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else _PIPED_WIDTH)


def indented(body: RenderableType) -> Padding:
    """Return the body two cells to the right."""
    return Padding(body, (0, 0, 0, 2), expand=False)


def table(*headers: str) -> Table:
    """Return an empty table; a header that starts with `>` stands over numbers."""
    empty = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    for header in headers:
        number = header.startswith(">")
        empty.add_column(header.lstrip(">"), justify="right" if number else "left", no_wrap=number)
    return empty


def facts() -> Table:
    """Return an empty grid for rows of a word and what is known about it."""
    return Table.grid(padding=(0, 2))
