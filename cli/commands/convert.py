"""`tracegraph convert`: a trace as Parquet, and back."""

from pathlib import Path

import click

from tracegraph.cli.options import limit_option
from tracegraph.cli.reporters.text import format_bytes
from tracegraph.ingest.convert import convert_trace
from tracegraph.ingest.limits import Limits


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace TARGET if it exists.")
@limit_option
def convert(source: Path, target: Path, force: bool, limits: Limits) -> None:
    """Write the trace SOURCE as TARGET: .json or .json.gz to .parquet, or back.

    Nothing is lost: the order of events and keys, unknown keys and the digits of numbers stay.
    """
    done = convert_trace(source, target, replace=force, limits=limits)
    click.echo(f"{done.path}: {done.events:,} entries, {format_bytes(done.bytes)}")
