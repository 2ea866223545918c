"""`tracegraph health`: whether a job keeps to thresholds, from its files alone."""

from collections.abc import Iterator
from pathlib import Path

import click

from tracegraph.base.errors import StoreError
from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.job_options import job_options, say_instead
from tracegraph.cli.options import form_of, thresholds_option
from tracegraph.cli.reporters.health import health_json, health_junit, print_health
from tracegraph.cli.reporters.layout import open_console
from tracegraph.cli.trace_options import rank_option, reading_options
from tracegraph.ingest.health.job_health import JobHealth, look_at_job
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.sources.expand import find_sources
from tracegraph.queries.shapes.peak.checks import FAILED
from tracegraph.queries.shapes.peak.job import NOTHING_SAID, Job, with_config_read
from tracegraph.vocabulary.kernel_types import Spelling
from tracegraph.workbench.health.checks import judge_job
from tracegraph.workbench.health.stored_job import stored_job

_FAILED = 1
"""The exit code if a check failed."""


@click.command()
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@thresholds_option(
    'JSON file with thresholds of checks, by name, such as {"gpu-idle": 0.3}; it may hold those of '
    "recommendations, too."
)
@form_of(
    "table",
    "json",
    "junit",
    meaning="Form: a table for people, json for scripts, junit (XML) for the test report of a CI server.",
)
@job_options
@rank_option
@reading_options
@pass_context
def health(
    context: Context,
    traces: tuple[str, ...],
    thresholds_file: Path | None,
    form: str,
    job: Job,
    ranks: dict[str, int],
    step_marker: str | None,
    spellings: tuple[Spelling, ...],
    limits: Limits,
) -> int:
    """Judge the TRACEs of one job by thresholds: input, steps, ranks, GPU, communication and memory.

    A TRACE may be a folder, a pattern or a URL, too. Nothing is stored and no database is needed. A check
    that cannot be judged says what to record; it does not fail. With --params or --model, --tokens and --peak
    the share of the peak (MFU) is judged, too; what `ingest` stored of these files' job counts, unless it is
    given here. Exit code 1 if a check failed, 2 if a file or an option cannot
    be used.
    """
    thresholds: dict[str, float] = {}
    if thresholds_file is not None:
        # Imported here: it knows the rules of recommendations, too, which few calls need.
        from tracegraph.workbench.findings.thresholds import read_thresholds  # noqa: PLC0415

        thresholds = read_thresholds(thresholds_file)
    options = IngestOptions(limits, step_marker=step_marker, spellings=spellings, compared=False)
    with context.progress() as progress:
        files = look_at_job(find_sources(traces, ranks), options, progress)
    at_ingest = _said_at_ingest(context, files)
    say_instead(context, _said_before(job, at_ingest))
    found = judge_job(files, thresholds, Job(**with_config_read(job.over(at_ingest).asked)))
    if form == "json":
        click.echo(health_json(found))
    elif form == "junit":
        click.echo(health_junit(found))
    else:
        print_health(open_console(), found)
    return _FAILED if any(one.state == FAILED for one in found) else 0


def _said_at_ingest(context: Context, files: JobHealth) -> Job:
    """Return what ingest stored of these files' job; nothing, and why, if the workspace cannot be used."""
    try:
        return stored_job(context.workspace, files)
    except StoreError as error:
        say_instead(context, [f"What ingest may have stored of this job is not used: {error.message}."])
        return NOTHING_SAID


def _said_before(job: Job, at_ingest: Job) -> Iterator[str]:
    """Yield what of the job is taken from the stored run, and what counts instead."""
    taken = [
        word for name, word in zip(at_ingest.asked, at_ingest.words(), strict=True) if name not in job.asked
    ]
    if taken:
        yield f"Said of the job at ingest: {', '.join(taken)}."
    yield from job.instead_of(at_ingest)
