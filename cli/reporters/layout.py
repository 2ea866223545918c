"""Building blocks of the report in the terminal."""

import os
import sys

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tracegraph.cli.broken_pipe import drop_output

_PIPED_WIDTH = 100
"""The width of the report, in cells, if the output is piped and COLUMNS says nothing."""


TONE_STYLES = {"good": "green", "warning": "yellow", "error": "bold red", "note": "cyan", "": ""}
"""How the terminal shows each `Tone` of a section."""


class _Output(Console):
    """Standard output; if nobody reads on, the command goes on without it to its proper end."""

    def on_broken_pipe(self) -> None:
        """Say nothing more; the base class would end the command."""
        self.quiet = True
        drop_output()


def open_console(piped_width: int = _PIPED_WIDTH) -> Console:
    """Return the console of the terminal, or of a pipe as wide as COLUMNS says, else as `piped_width`."""
    if sys.stdout.isatty():
        return _Output(file=sys.stdout)
    stated = os.environ.get("COLUMNS", "")
    width = int(stated) if stated.isascii() and stated.isdecimal() else 0
    return _Output(file=sys.stdout, width=width or piped_width)


def indented(body: RenderableType) -> Padding:
    """Return the body two cells to the right."""
    return Padding(body, (0, 0, 0, 2), expand=False)


class Command(str):
    """A command in a text, which `print_command` prints."""

    __slots__ = ()


def print_command(console: Console, line: str, style: str = "cyan") -> None:
    """Print a line with a command in one piece, however long, so that it can be pasted."""
    console.print(Text(line, style=style), soft_wrap=True)


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
