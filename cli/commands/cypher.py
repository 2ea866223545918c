"""`tracegraph cypher`: a query of the user's own."""

from pathlib import Path

import click

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import (
    RUN_OF_QUERY,
    name_option,
    parameter_option,
    parse_values,
    result_options,
    timeout_option,
)
from tracegraph.cli.reporters.frame import write_frame
from tracegraph.cli.warning_lines import warnings_shown
from tracegraph.workbench.methods.own_query import refuse_empty

_LIMIT_S = 300.0
"""The default of --timeout: a query of the user's own may take forever by mistake."""


@click.command()
@click.argument("query")
@click.option("--write", is_flag=True, help="Let the query change the database.")
@name_option(RUN_OF_QUERY)
@parameter_option
@timeout_option(_LIMIT_S)
@result_options
@pass_context
def cypher(
    context: Context,
    query: str,
    *,
    write: bool,
    name: str | None,
    assignments: tuple[str, ...],
    limit_s: float | None,
    output: Path | None,
    form: str,
    raw: bool,
) -> None:
    """Run the Cypher QUERY and show its rows.

    $run in it is the name of a run: that of --run or -p run=NAME, else the newest. A query whose patterns do
    not say {run: $run} is about all stored runs.

    Without --write whatever would change the database is refused, and what ends others' work or shows the
    server's settings; with it, stderr says what changed, and --timeout does not count. A
    parameter's value is read as JSON where it is JSON (-p limit=5), else as text.
    """
    refuse_empty(query)
    parameters = parse_values(assignments)
    changed: dict[str, int] = {}
    with warnings_shown(), context.bench() as bench:
        bench.limit_s = limit_s
        if write:
            rows, changed = bench.change(query, name, **parameters)
        else:
            rows = bench.cypher(query, name, **parameters)
    if write:
        counts = ", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in changed.items())
        click.echo(counts or "nothing changed", err=True)
    if len(rows.columns):
        write_frame(rows, form, output, raw=raw)
