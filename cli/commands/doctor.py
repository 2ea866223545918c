"""`tracegraph doctor`: what a trace lost, or whether the installation works."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from tracegraph.base.errors import InputError
from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.installation import check_installation
from tracegraph.cli.options import form_of, limit_option
from tracegraph.cli.reporters.companions import told_lines
from tracegraph.cli.reporters.integrity import print_inspection, print_job
from tracegraph.cli.reporters.layout import open_console
from tracegraph.cli.trace_options import rank_option
from tracegraph.ingest.companions.companion import CompanionFile
from tracegraph.ingest.companions.registry import find_companion, read_companions
from tracegraph.ingest.inspection import Inspection, JobInspection, inspect_traces
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.sources.expand import find_sources

_ERROR = 1
"""The exit code if a finding is an error."""


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1)
@form_of("table", "json", meaning="Form of the findings about FILEs.")
@rank_option
@limit_option
@pass_context
def doctor(context: Context, files: tuple[str, ...], form: str, ranks: dict[str, int], limits: Limits) -> int:
    """Say what of a trace cannot be relied on, or what is installed and works.

    With FILE, which may be a folder, a pattern or a URL, too: what the trace lost and what in it is odd,
    without a database; of several also what joining them as the ranks of one job finds. Of logs of NCCL and
    output of its tests: what they hold. Exit code 1 if a finding is an error, 2 if a file cannot be used.
    Without: whether `tracegraph report` can run here.
    """
    if not files:
        check_installation(context)
        return 0
    opened = [find_companion(Path(file), limits) for file in files]
    if companions := [one for one in opened if one is not None]:
        if len(companions) < len(files):
            raise InputError(
                "files that explain a trace and traces are given together", "name one kind at a time"
            )
        return _say_companions(companions, form)
    sources = find_sources(files, ranks)
    with context.progress() as progress:
        found, together = inspect_traces(sources, limits, progress)
    refused = [one for one in found if isinstance(one, InputError)]
    if form == "json":
        rows = [_row(source.shown, one) for source, one in zip(sources, found, strict=True)]
        if isinstance(together, JobInspection):
            rows.append(_row("all ranks", together))
        click.echo(json.dumps(rows, indent=1))
    elif len(sources) > len(refused) or len(sources) > 1:
        console = open_console()
        for source, one in zip(sources, found, strict=True):
            print_inspection(console, source.shown, one)
        if together is not None:
            print_job(console, together)
    if len(sources) == 1 and refused:
        raise refused[0]
    if refused:
        raise InputError(f"{len(refused)} of {len(sources)} files cannot be used", "the lines above say why")
    usable = [one for one in (*found, together) if one is not None and not isinstance(one, InputError)]
    return _ERROR if any(finding.level == "error" for one in usable for finding in one.findings) else 0


def _say_companions(files: Sequence[CompanionFile], form: str) -> int:
    """Say what files hold that are not traces but explain one."""
    told = read_companions(files)
    if form == "json":
        click.echo(json.dumps({kind: dict(one.words) for kind, one in told.items()}, indent=1))
    else:
        click.echo("\n".join(told_lines(told)))
        click.echo(
            "No trace: tracegraph ingest TRACE --with FILE, or tracegraph attach RUN FILE, adds it to one."
        )
    return 0


def _row(file: str, found: Inspection | JobInspection | InputError) -> dict[str, object]:
    if isinstance(found, InputError):
        return {"file": file, "usable": False, "reason": str(found)}
    return {"file": file, "usable": True, **found.as_row()}
