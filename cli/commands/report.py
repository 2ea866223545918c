"""`tracegraph report`: what determined the length of a run or of one of its steps."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracegraph.base.errors import InputError
from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.job_options import job_options, say_instead
from tracegraph.cli.options import (
    Part,
    folder_option,
    form_of,
    full_names_option,
    load_option,
    name_option,
    part_options,
    thresholds_option,
)
from tracegraph.cli.reporters.every_section import print_report
from tracegraph.cli.reporters.first_screen import first_screen
from tracegraph.cli.reporters.first_screen_text import print_first, print_written
from tracegraph.cli.reporters.frame import write_utf8
from tracegraph.cli.reporters.layout import open_console
from tracegraph.cli.reporters.markdown import as_markdown
from tracegraph.cli.trace_options import ingest_options, rank_option
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.sources.source import Source
from tracegraph.queries.shapes.peak.job import Job
from tracegraph.store.load.indexes import await_indexes
from tracegraph.store.managed.rebuild.estimate import Load
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.bench import Workbench
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.methods.stored_run import ingest_timings
from tracegraph.workbench.run import Run

if TYPE_CHECKING:
    from tracegraph.workbench.output.folder import Written


@click.command()
@click.argument("traces", metavar="[TRACE]...", nargs=-1)
@rank_option
@click.option("-i", "--input", "inputs", multiple=True, help="As the argument TRACE.")
@folder_option("Folder for report.html, the CSV files, the picture, summary.json and the overlay.")
@click.option(
    "--top-functions",
    "--top_functions",
    "top",
    type=click.IntRange(1, 1_000_000),
    default=10,
    show_default=True,
    help="Number of hotspots listed.",
)
@full_names_option
@thresholds_option("JSON file with thresholds of recommendations, by rule.")
@job_options
@form_of(
    "table",
    "json",
    "md",
    meaning="table: for people; json: what summary.json begins with; md: Markdown, as for a pull request.",
)
@part_options("Report only on this")
@name_option("Name of the run; with no TRACE: the stored run, default the newest.")
@ingest_options
@load_option
@pass_context
def report(
    context: Context,
    *,
    traces: tuple[str, ...],
    inputs: tuple[str, ...],
    ranks: dict[str, int],
    output: Path | None,
    top: int,
    full_names: bool,
    thresholds_file: Path | None,
    job: Job,
    form: str,
    part: Part,
    name: str | None,
    options: IngestOptions,
    load: Load | None,
) -> None:
    """Say what determined the length of a run or step: the first screen, or every section with -v.

    With TRACE: ingest it first. Without: report on a stored run. A TRACE is a file, a folder with traces, a
    pattern such as 'logs/*.json.gz', or a URL (s3://…, https://…); several are the ranks of one job.
    """
    thresholds: dict[str, float] = {}
    if thresholds_file is not None:
        # Imported here, as in `health`: it knows all rules and checks, which few reports need.
        from tracegraph.workbench.findings.thresholds import read_thresholds  # noqa: PLC0415

        thresholds = read_thresholds(thresholds_file)
    _check_names(context.workspace, traces)
    sources = _find_sources((*traces, *inputs), ranks)
    bench = Workbench(context.workspace, context.connection)
    with ExitStack() as opened:
        with context.progress() as bench.progress:
            run, timings = opened.enter_context(_run(bench, sources, name, options, load))
            instead = list(job.instead_of(run.stated_job())) if job.asked else []
            first = None if context.verbose or form == "json" else run.first_look(**part, job=job)
        say_instead(context, instead)
        if first is not None:
            _print_first(first, form, is_written=output is not None)
        if first is None or output is not None:
            with context.progress() as bench.progress:
                found = run.report(
                    **part,
                    top=top,
                    drawn=output is not None,
                    timings_s=timings,
                    thresholds=thresholds,
                    job=job,
                )
                files = None if output is None else found.save(output)
            if first is None:
                _print_all(found.findings, form, full_names=full_names)
            if output is not None and files is not None:
                _print_files(context, output, files, form)
        if sources:  # what is shown needs none of a new database's indexes, and did not wait for them
            with context.progress() as progress, bench.answers() as answers:
                await_indexes(answers.database, progress)


@contextmanager
def _run(
    bench: Workbench,
    sources: Sequence[Source],
    name: str | None,
    options: IngestOptions,
    load: Load | None,
) -> Iterator[tuple[Run, Mapping[str, float]]]:
    """Yield the run that the command is about, on one connection, with the seconds that its ingest took."""
    if sources:
        with bench.storing(sources, name, options, load) as stored:
            yield Run(bench, stored.tables.run), stored.timings_s
        return
    if bench.connection.uri is None and not bench.workspace.all_manifests():
        raise InputError("no run is stored", "give a trace: tracegraph report TRACE")
    with bench.answers():
        run = bench.run(name)
        _check_policy(run, options.cross_thread)
        _check_marker(run, options.step_marker)
        yield run, ingest_timings(bench.workspace.manifest(run.name) or {})


def _find_sources(given: Sequence[str], ranks: Mapping[str, int]) -> Sequence[Source]:
    """List the files to read; none where a stored run is meant, which needs no format of traces."""
    if not given and not ranks:
        return ()
    from tracegraph.ingest.sources.expand import find_sources  # noqa: PLC0415

    return find_sources(given, ranks)


def _check_names(workspace: Workspace, traces: Sequence[str]) -> None:
    """Refuse an argument that is not a path, but the name of a stored run."""
    absent = [trace for trace in traces if not os.path.exists(trace)]
    stored = {entry.get("run") for entry in workspace.manifests()} if absent else set()
    for trace in absent:
        if trace in stored:
            raise InputError(
                f"{trace!r} is no file, but a stored run", f"tracegraph report --run {shlex.quote(trace)}"
            )


def _check_policy(run: Run, asked: str | None) -> None:
    """Refuse a stored run that has another policy between threads than the one asked for."""
    if asked is None:
        return
    stored = run.run_details()["cross_thread"].iloc[0]
    if asked != stored:
        raise InputError(
            f"run {run.name!r} has the policy {stored}, not {asked}, which is chosen at ingest",
            f"give its trace: tracegraph report TRACE --cross-thread {asked}",
        )


def _check_marker(run: Run, asked: str | None) -> None:
    """Refuse a stored run whose steps are marked by other annotations than those asked for."""
    if asked is None or run.run_details()["step_marker"].iloc[0] == asked:
        return
    raise InputError(
        f"{asked!r} does not mark the steps of run {run.name!r}; that is chosen at ingest",
        f"give its trace: tracegraph report TRACE --step-marker {shlex.quote(asked)}",
    )


def _print_first(findings: Findings, form: str, *, is_written: bool) -> None:
    """Print the first screen before anything else is asked."""
    shown = first_screen(findings)
    if form == "md":
        write_utf8(as_markdown(shown))
    else:
        print_first(open_console(), shown, is_written=is_written)


def _print_all(findings: Findings, form: str, *, full_names: bool) -> None:
    """Print every section, or what summary.json begins with."""
    if form == "json":
        from tracegraph.workbench.output.summary import as_text, summary_head  # noqa: PLC0415

        write_utf8(as_text(summary_head(findings)))
    else:
        print_report(open_console(), findings, full_names=full_names)


def _print_files(context: Context, folder: Path, written: "Written", form: str) -> None:
    """Print which files were written: with a table for people on standard output, else beside it."""
    if form == "table":
        print_written(open_console(), folder, written, every=bool(context.verbose))
    elif not context.quiet:
        print_written(context.console, folder, written)
