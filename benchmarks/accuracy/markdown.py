"""Tables as Markdown, and blocks of a document that a command writes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from tracegraph.workbench.text.text import visible


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with one line a row; names from traces are shown harmless."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(_cell(value) for value in line) + " |" for line in lines)


def _cell(value: object) -> str:
    return visible(str(value)).replace("|", "\\|").replace("<", "&lt;")


@dataclass(frozen=True)
class Block:
    """What stands between `<!-- name -->` and `<!-- /name -->` in a document."""

    document: Path
    pattern: re.Pattern[str]

    def write(self, text: str) -> None:
        """Replace it by `text`."""
        before = self.document.read_text(encoding="utf-8")
        after = self.pattern.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", before)
        self.document.write_text(after, encoding="utf-8")


def find_block(document: Path, name: str) -> Block:
    """Return the block of a document; ends the command with one line where it has none."""
    block = Block(document, re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL))
    if not document.exists() or not block.pattern.search(document.read_text(encoding="utf-8")):
        raise click.ClickException(f"{document} has no block <!-- {name} --> … <!-- /{name} -->")
    return block
