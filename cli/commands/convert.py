"""`tracegraph convert`: a trace in another format."""

from pathlib import Path

import click

from tracegraph.base.units import format_bytes
from tracegraph.cli.options import limit_option
from tracegraph.ingest.convert import convert_trace
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.readers.registry import FORMATS

_WRITTEN = "; ".join(f"{form.name} {', '.join(form.endings)}" for form in FORMATS if form.write is not None)
_HELP = f"""Write the trace SOURCE in the format that the name of TARGET says: {_WRITTEN}.

Without --process nothing is lost: the order of events and keys, unknown keys and the digits of numbers stay.
"""


@click.command(help=_HELP)
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--process",
    "processes",
    metavar="PID",
    multiple=True,
    help="Write only what has this pid, as it is written in the file; once for each, `*` and `?` are "
    "wildcards. So a file into which ranks were merged is split, one rank at a time: '[TP00] *'.",
)
@click.option("--force", is_flag=True, help="Replace TARGET if it exists.")
@limit_option
def convert(source: Path, target: Path, processes: tuple[str, ...], force: bool, limits: Limits) -> None:
    """Write a trace in another format and say what was written."""
    done = convert_trace(source, target, replace=force, limits=limits, processes=processes)
    click.echo(f"{done.path}: {done.events:,} entries, {format_bytes(done.bytes)}")
