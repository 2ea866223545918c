"""`tracegraph ingest`: traces into the database, without a report."""

import click

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import (
    cross_thread_option,
    limit_option,
    load_option,
    name_option,
)
from tracegraph.cli.reporters.integrity import integrity_lines
from tracegraph.cli.trace_options import (
    kernel_types_option,
    named_sources,
    rank_option,
    scheduler_option,
    step_marker_option,
)
from tracegraph.ingest.limits import Limits
from tracegraph.store.kernel_types import Spelling
from tracegraph.store.managed.estimate import Load
from tracegraph.workbench.text import label, plural


@click.command()
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@rank_option
@scheduler_option
@name_option("Name of the run; default: the file's stem and its content's hash.")
@cross_thread_option
@step_marker_option
@kernel_types_option
@limit_option
@load_option
@pass_context
def ingest(
    context: Context,
    traces: tuple[str, ...],
    *,
    ranks: dict[str, int],
    scheduler: str | None,
    name: str | None,
    cross_thread: str | None,
    step_marker: str | None,
    spellings: tuple[Spelling, ...],
    limits: Limits,
    load: Load | None,
) -> None:
    """Store the TRACEs of one job as a run.

    A TRACE is a file, a folder with traces, a pattern such as 'logs/*.json.gz', or a URL (s3://…, https://…).
    The same content under the same name replaces the run.
    """
    sources = named_sources(traces, ranks)
    with (
        context.bench() as bench,
        bench.storing(
            sources,
            name,
            cross_thread=cross_thread,
            load=load,
            limits=limits,
            scheduler=scheduler,
            step_marker=step_marker,
            spellings=spellings,
        ) as run,
    ):
        tables, integrity = run.tables, run.integrity
        edges, nodes = tables.count_relationships(), tables.count_nodes()
        events = tables.count_labels().get("Event", 0)
    click.echo(f"run {label(tables.run, 200)}")
    click.echo(f"{plural(events, 'event')}, {plural(nodes, 'node')}")
    click.echo(", ".join(f"{kind} {count:,}" for kind, count in edges.items()))
    for line in integrity_lines(integrity):
        click.echo(line)
