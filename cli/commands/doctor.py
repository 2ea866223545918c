"""`tracegraph doctor`: what a trace lost, or whether the installation works."""

import json
from pathlib import Path

import click

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.installation import check_installation
from tracegraph.cli.options import limit_option
from tracegraph.cli.reporters.integrity import print_inspection
from tracegraph.cli.reporters.layout import open_console
from tracegraph.ingest.inspection import Inspection, inspect_trace
from tracegraph.ingest.limits import Limits
from tracegraph.store.errors import InputError


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Form of the findings about FILEs.",
)
@limit_option
@pass_context
def doctor(context: Context, files: tuple[Path, ...], form: str, limits: Limits) -> None:
    """Say what of a trace cannot be relied on, or what is installed and works.

    With FILE: what the trace lost and what in it is odd, without a database; exit code 2 when it cannot be
    used. Without: whether `tracegraph report` can run here.
    """
    if not files:
        check_installation(context)
        return
    found = [_inspect(file, limits) for file in files]
    refused = [one for one in found if isinstance(one, InputError)]
    if form == "json":
        click.echo(json.dumps([_row(file, one) for file, one in zip(files, found, strict=True)], indent=1))
    elif len(files) > len(refused) or len(files) > 1:
        console = open_console()
        for file, one in zip(files, found, strict=True):
            print_inspection(console, str(file), one)
    if len(files) == 1 and refused:
        raise refused[0]
    if refused:
        raise InputError(f"{len(refused)} of {len(files)} files cannot be used", "the lines above say why")


def _inspect(file: Path, limits: Limits) -> Inspection | InputError:
    try:
        return inspect_trace(file, limits)
    except InputError as error:
        return error


def _row(file: Path, found: Inspection | InputError) -> dict[str, object]:
    if isinstance(found, InputError):
        return {"file": str(file), "usable": False, "reason": str(found)}
    return {"file": str(file), "usable": True, **found.as_row()}
