"""`tracegraph report`: what determined the length of a run or of one of its steps."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from tracegraph.cli.answers import answers_for
from tracegraph.cli.collect import collect_findings
from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import cross_thread_option, limit_option, load_option, name_option
from tracegraph.cli.recommendations import recommend
from tracegraph.cli.reporters.folder import Written, write_folder
from tracegraph.cli.reporters.layout import open_console
from tracegraph.cli.reporters.terminal import print_report
from tracegraph.cli.reporters.text import visible
from tracegraph.cli.traces import ingest_timings, stored_run
from tracegraph.ingest.limits import Limits
from tracegraph.queries.runs import Ask, ready_run
from tracegraph.store.connection import Database
from tracegraph.store.errors import InputError
from tracegraph.store.load import await_indexes
from tracegraph.store.managed.estimate import Load
from tracegraph.store.progress import Progress
from tracegraph.store.session import open_database

_TRACE = click.Path(path_type=Path)


@click.command()
@click.argument("traces", metavar="[TRACE]...", nargs=-1, type=_TRACE)
@click.option("-i", "--input", "inputs", multiple=True, type=_TRACE, help="As the argument TRACE.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for report.html, the CSV files, the picture, summary.json and the overlay.",
)
@click.option(
    "--top-functions",
    "--top_functions",
    "top",
    type=click.IntRange(1, 1_000_000),
    default=10,
    show_default=True,
    help="Number of hotspots listed.",
)
@click.option("--step", type=int, help="Report on this step only: the number in ProfilerStep#N.")
@name_option("Name of the run; with no TRACE: the stored run, default the newest.")
@cross_thread_option
@limit_option
@load_option
@pass_context
def report(
    context: Context,
    *,
    traces: tuple[Path, ...],
    inputs: tuple[Path, ...],
    output: Path | None,
    top: int,
    step: int | None,
    name: str | None,
    cross_thread: str | None,
    limits: Limits,
    load: Load | None,
) -> None:
    """Say what determined the length of a run or step.

    With TRACE: ingest it first. Without: report on a stored run.
    """
    written = None
    with ExitStack() as opened:
        with context.progress() as progress:
            database, run, timings = opened.enter_context(
                _run(context, (*traces, *inputs), name, progress, limits, cross_thread, load)
            )
            answers = answers_for(context, database, progress)
            findings = collect_findings(
                answers,
                context.workspace,
                run,
                step=step,
                top=top,
                drawn=output is not None,
                timings_s=timings,
            )
            recommendations = recommend(findings)
            if output is not None:
                written = write_folder(findings, recommendations, output, progress)
        console = open_console()
        print_report(console, findings, recommendations)
        if written is not None and output is not None:
            _say_written(console, output, written)
        # What is shown needs no index, so it need not wait for those of a new database.
        with context.progress() as progress:
            await_indexes(database, progress)


@contextmanager
def _run(
    context: Context,
    traces: tuple[Path, ...],
    name: str | None,
    progress: Progress,
    limits: Limits,
    cross_thread: str | None,
    load: Load | None,
) -> Iterator[tuple[Database, str, Mapping[str, float]]]:
    """Open the database on the run that the command is about, with the seconds that its ingest took."""
    if traces:
        with stored_run(context, traces, name, progress, limits, cross_thread, load) as stored:
            yield stored.database, stored.tables.run, stored.timings_s
        return
    if context.connection.uri is None and not context.workspace.manifests():
        raise InputError("no run is stored", "give a trace: tracegraph report TRACE")
    with open_database(context.workspace, context.connection, progress) as database:
        ask = answers_for(context, database, progress).of
        run = ready_run(ask, name)
        _check_policy(ask, run, cross_thread)
        yield database, run, ingest_timings(context.workspace.manifest(run) or {})


def _check_policy(ask: Ask, run: str, asked: str | None) -> None:
    """InputError where a stored run has another policy between threads than the one asked for."""
    if asked is None:
        return
    stored = ask("run_details", {"run": run})["cross_thread"].iloc[0]
    if asked != stored:
        raise InputError(
            f"run {run!r} has the policy {stored}, not {asked}, which is chosen at ingest",
            f"give its trace: tracegraph report TRACE --cross-thread {asked}",
        )


def _say_written(console: Console, folder: Path, written: Written) -> None:
    console.print(Text("Files", style="bold"))
    console.print(Text(f"  in {visible(str(folder))}: {', '.join(written.files)}"))
    for name, reason in written.left_out.items():
        console.print(Text(f"  {name} is left out: {visible(reason)}", style="yellow"))
