"""Tables as Markdown, and blocks of a document that a command writes."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from tracegraph.cli.reporters.text import visible


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with one line a row; names from traces are shown harmless."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(_cell(value) for value in line) + " |" for line in lines)


def _cell(value: object) -> str:
    return visible(str(value)).replace("|", "\\|").replace("<", "&lt;")


def write_block(document: Path, name: str, text: str) -> None:
    """Replace what stands between `<!-- name -->` and `<!-- /name -->` in `document`."""
    before = document.read_text(encoding="utf-8")
    block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    after, found = block.subn(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", before)
    if not found:
        raise click.ClickException(f"{document} has no block <!-- {name} --> … <!-- /{name} -->")
    document.write_text(after, encoding="utf-8")
