"""`tracegraph cypher`: a query of the user's own."""

from pathlib import Path

import click

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import check_query, parameter_option, parse_values, result_options
from tracegraph.cli.reporters.frame import write_frame


@click.command()
@click.argument("query")
@click.option("--write", is_flag=True, help="Let the query change the database.")
@parameter_option
@result_options
@pass_context
def cypher(
    context: Context, query: str, write: bool, assignments: tuple[str, ...], output: Path | None, form: str
) -> None:
    """Run the Cypher QUERY and show its rows.

    Without --write the database refuses whatever would change it; with it, stderr says what changed. A
    parameter's value is read as JSON where it is JSON (-p limit=5), else as text.
    """
    check_query(query)
    parameters = parse_values(assignments)
    changed: dict[str, int] = {}
    with context.bench() as bench:
        if write:
            rows, changed = bench.change(query, **parameters)
        else:
            rows = bench.cypher(query, **parameters)
    if write:
        counts = ", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in changed.items())
        click.echo(counts or "nothing changed", err=True)
    if len(rows.columns):
        write_frame(rows, form, output)
