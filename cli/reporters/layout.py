"""Building blocks of the report in the terminal."""

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table


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
