"""`tracegraph runs`: the stored runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pandas as pd

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import result_options
from tracegraph.cli.reporters.frame import write_frame
from tracegraph.cli.reporters.text import visible
from tracegraph.cli.reporters.values import as_data_text
from tracegraph.queries.catalog import ask
from tracegraph.store.connection import Database
from tracegraph.store.errors import InputError
from tracegraph.store.session import open_database
from tracegraph.store.storing import remove_run, turn_to_write


@click.group(invoke_without_command=True)
@click.pass_context
def runs(ctx: click.Context) -> None:
    """List, show and delete stored runs; without a command: list."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_runs)


@runs.command("list")
@result_options
@pass_context
def list_runs(context: Context, output: Path | None = None, form: str = "table") -> None:
    """List the runs, newest first."""
    with _database(context) as database:
        rows = ask(database, "runs")
    write_frame(rows, form, output)
    if rows.empty:
        click.echo("no run is stored; tracegraph ingest TRACE", err=True)


@runs.command()
@click.argument("name")
@result_options
@pass_context
def show(context: Context, name: str, output: Path | None, form: str) -> None:
    """Show what is stored about the run NAME."""
    with _database(context) as database:
        details = ask(database, "run_details", run=name)
    if details.empty:
        raise _unknown(name)
    items = [(column, details[column].iloc[0]) for column in details.columns]
    if form == "parquet":  # whose columns are of one type each
        items = [(column, as_data_text(value)) for column, value in items]
    write_frame(pd.DataFrame(items, columns=["property", "value"], dtype=object), form, output)


@runs.command()
@click.argument("name")
@pass_context
def delete(context: Context, name: str) -> None:
    """Delete the run NAME from the database and the workspace."""
    with turn_to_write(context.workspace), _database(context) as database:
        kept = any(manifest.get("run") == name for manifest in context.workspace.manifests())
        if ask(database, "run_details", run=name).empty and not kept:
            raise _unknown(name)
        remove_run(context.workspace, context.connection, database, name)
    click.echo(f"deleted {visible(name)}")


@contextmanager
def _database(context: Context) -> Iterator[Database]:
    with (
        context.progress() as progress,
        open_database(context.workspace, context.connection, progress) as database,
    ):
        yield database


def _unknown(name: str) -> InputError:
    return InputError(f"there is no run named {name!r}", "tracegraph runs lists those stored")
