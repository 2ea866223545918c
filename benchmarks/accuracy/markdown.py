"""Tables in Markdown, and the blocks of a document that a command writes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from tracegraph.workbench.text.text import visible


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table with one line for each row; names from traces are made harmless."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(_cell(value) for value in line) + " |" for line in lines)


def _cell(value: object) -> str:
    return visible(str(value)).replace("|", "\\|").replace("<", "&lt;")


@dataclass(frozen=True)
class Block:
    """The part of a document between `<!-- name -->` and `<!-- /name -->`."""

    document: Path
    pattern: re.Pattern[str]

    def write(self, text: str) -> None:
        """Replace the part by `text`."""
        before = self.document.read_text(encoding="utf-8")
        after = self.pattern.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", before)
        self.document.write_text(after, encoding="utf-8")


def find_block(document: Path, name: str) -> Block:
    """Find the block of a document; end the command with one line if it has none."""
    block = Block(document, re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL))
    if not document.exists() or not block.pattern.search(document.read_text(encoding="utf-8")):
        raise click.ClickException(f"{document} has no block <!-- {name} --> … <!-- /{name} -->")
    return block
