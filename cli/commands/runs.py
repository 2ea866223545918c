"""`tracegraph runs`: the stored runs."""

from pathlib import Path

import click
import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.cli.command_group import CommandGroup
from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import result_options, stored_runs
from tracegraph.cli.reporters.frame import write_frame
from tracegraph.queries.catalog import find
from tracegraph.queries.runs import unknown_run
from tracegraph.workbench.text.text import plural, visible
from tracegraph.workbench.text.values import as_data_text, to_the_minute


def _rank_numbers(ctx: click.Context, option: click.Parameter, text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() for word in words):
        raise InputError(f"--rank {text} names no ranks", "write --rank 17 or --rank 17,18")
    return tuple(dict.fromkeys(map(int, words)))


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def runs(ctx: click.Context) -> None:
    """List, show and delete stored runs, and load more of their ranks; without a command: list."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_runs)


@runs.command("list")
@result_options
@pass_context
def list_runs(context: Context, output: Path | None = None, form: str = "table", raw: bool = False) -> None:
    """List the runs, newest first."""
    with context.bench() as bench:
        rows = bench.runs()
    if form == "table" and output is None:
        rows = _for_people(rows)
    write_frame(rows, form, output, find("runs").columns, raw=raw)
    if rows.empty:
        click.echo("no run is stored; tracegraph ingest TRACE", err=True)


def _for_people(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out what all runs have in common, and say when each was made to the minute."""
    shown = rows.assign(created=to_the_minute(rows["created"]))
    plain = ["nodes"]
    plain += ["state"] if rows["state"].eq("ready").all() else []
    plain += ["scenario_of"] if rows["scenario_of"].isna().all() else []
    return shown.drop(columns=plain)


@runs.command()
@click.argument("name", shell_complete=stored_runs)
@result_options
@pass_context
def show(context: Context, name: str, output: Path | None, form: str, raw: bool) -> None:
    """Show what is stored about the run NAME."""
    with context.bench() as bench, bench.answers() as answers:
        details = answers.of("run_details", {"run": name})
        if details.empty:
            raise unknown_run(answers.of, name)
    items = [(column, details[column].iloc[0]) for column in details.columns]
    if form == "parquet":  # whose columns are of one type each
        items = [(column, as_data_text(value)) for column, value in items]
    write_frame(pd.DataFrame(items, columns=["property", "value"], dtype=object), form, output, raw=raw)


@runs.command()
@click.argument("name", shell_complete=stored_runs)
@pass_context
def delete(context: Context, name: str) -> None:
    """Delete the run NAME from the database and the workspace."""
    with context.bench() as bench:
        bench.delete(name)
    click.echo(f"deleted {visible(name)}")


@runs.command()
@click.argument("name", shell_complete=stored_runs)
@click.option(
    "--rank",
    "ranks",
    required=True,
    metavar="N[,N]",
    callback=_rank_numbers,
    help="Ranks to take in full, separated by commas.",
)
@pass_context
def load(context: Context, name: str, ranks: tuple[int, ...]) -> None:
    """Take more ranks of the run NAME in full, from its files, which must be where they were.

    For a run that `--detail path` made: of most of its ranks it has only operations with other ranks.
    """
    with context.bench() as bench:
        bench.load_ranks(ranks, name)
    click.echo(f"loaded {plural(len(ranks), 'rank')} of {visible(name)}")
