"""`tracegraph ingest`: traces into the database, without a report."""

from dataclasses import replace
from pathlib import Path

import click

from tracegraph.base.errors import InputError
from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.job_options import job_options
from tracegraph.cli.options import load_option, name_option
from tracegraph.cli.reporters.integrity import integrity_lines
from tracegraph.cli.trace_options import ingest_options, rank_option
from tracegraph.ingest.companions.registry import is_companion
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.sources.expand import find_sources
from tracegraph.queries.shapes.peak.job import Job
from tracegraph.store.managed.rebuild.estimate import Load
from tracegraph.workbench.text.text import label, plural


@click.command()
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@rank_option
@name_option("Name of the run; default: the file's stem and its content's hash.")
@job_options
@ingest_options
@load_option
@pass_context
def ingest(
    context: Context,
    traces: tuple[str, ...],
    *,
    ranks: dict[str, int],
    name: str | None,
    job: Job,
    options: IngestOptions,
    load: Load | None,
) -> None:
    """Store the TRACEs of one job as a run.

    A TRACE is a file, a folder with traces, a pattern such as 'logs/*.json.gz', or a URL (s3://…, https://…).
    The same content under the same name replaces the run. Logs of NCCL and output of its tests, without a
    trace, become a run that has no lanes: `tracegraph query transfer_fit` and others answer from them.

    What you say of the job is stored with the run: its reports and queries use it, unless they are given
    something else. Without a word on the job, what was said of it before stays.
    """
    options = replace(options, job=job.text())
    if all(is_companion(Path(trace), options.limits) for trace in traces):
        if options.job is not None:
            raise InputError("a run without a trace keeps nothing of the job", "leave the job's options out")
        with context.bench() as bench:
            click.echo(f"run {label(bench.ingest_companions(traces, name).name, 200)}")
        return
    sources = find_sources(traces, ranks)
    with context.bench() as bench, bench.storing(sources, name, options, load) as run:
        tables, integrity = run.tables, run.integrity
        edges, nodes = tables.count_relationships(), tables.count_nodes()
        events = tables.count_labels().get("Event", 0)
    click.echo(f"run {label(tables.run, 200)}")
    click.echo(f"{plural(events, 'event')}, {plural(nodes, 'node')}")
    click.echo(", ".join(f"{kind} {count:,}" for kind, count in edges.items() if count) or "no relationships")
    for line in integrity_lines(integrity):
        click.echo(line)
