"""`tracegraph ingest`: traces into the database, without a report."""

import click

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import load_option, name_option
from tracegraph.cli.reporters.integrity import integrity_lines
from tracegraph.cli.trace_options import ingest_options, rank_option
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.sources.expand import find_sources
from tracegraph.store.managed.rebuild.estimate import Load
from tracegraph.workbench.text.text import label, plural


@click.command()
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@rank_option
@name_option("Name of the run; default: the file's stem and its content's hash.")
@ingest_options
@load_option
@pass_context
def ingest(
    context: Context,
    traces: tuple[str, ...],
    *,
    ranks: dict[str, int],
    name: str | None,
    options: IngestOptions,
    load: Load | None,
) -> None:
    """Store the TRACEs of one job as a run.

    A TRACE is a file, a folder with traces, a pattern such as 'logs/*.json.gz', or a URL (s3://…, https://…).
    The same content under the same name replaces the run.
    """
    sources = find_sources(traces, ranks)
    with context.bench() as bench, bench.storing(sources, name, options, load) as run:
        tables, integrity = run.tables, run.integrity
        edges, nodes = tables.count_relationships(), tables.count_nodes()
        events = tables.count_labels().get("Event", 0)
    click.echo(f"run {label(tables.run, 200)}")
    click.echo(f"{plural(events, 'event')}, {plural(nodes, 'node')}")
    click.echo(", ".join(f"{kind} {count:,}" for kind, count in edges.items()))
    for line in integrity_lines(integrity):
        click.echo(line)
