"""Write the commands and their options into docs/commands.md: `python docs/commands.py`."""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from tracegraph.cli.main import cli

PAGE = Path(__file__).resolve().with_suffix(".md")
_BETWEEN = re.compile(r"(<!-- commands -->\n).*?(<!-- /commands -->)", re.DOTALL)


def sections(command: click.Command, name: str, above: click.Context | None = None) -> Iterator[str]:
    """Yield what a command takes, and then the same of those below it."""
    context = click.Context(command, info_name=name, parent=above, **command.context_settings)
    depth = "###" if above is not None and above.parent is not None else "##"
    yield f"{depth} `{context.command_path}`\n\n"
    yield f"    {' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n\n"
    yield from (f"{paragraph}\n\n" for paragraph in paragraphs(command.help or ""))
    rows = [_row(record) for record in options(command, context)]
    yield from ["| option | what it does |\n|---|---|\n", *rows, "\n"] if rows else []
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from sections(found, inner, context)


def options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the options of a command with what the help says of each; every command has -h."""
    for option in command.params:
        record = option.get_help_record(context)
        if isinstance(option, click.Option) and record is not None:
            yield record


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text, each on one line; what it leaves to a terminal is dropped."""
    found = (" ".join(part.replace("\b", "").split()) for part in re.split(r"\n\s*\n", text))
    return [part.replace("*", r"\*") for part in found if part]


def _row(record: tuple[str, str]) -> str:
    names, meaning = (" ".join(text.split()).replace("|", r"\|") for text in record)
    return f"| `{names}` | {meaning} |\n"


def with_commands(page: str) -> str:
    """Replace what stands between the markers of the page by what the commands take today."""
    text = "".join(sections(cli, "tracegraph"))
    return _BETWEEN.sub(lambda found: f"{found[1]}\n{text}{found[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(with_commands(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
