"""`tracegraph cypher`: a query of the user's own."""

from contextlib import nullcontext
from pathlib import Path

import click

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import check_query, parameter_option, parse_values, result_options
from tracegraph.cli.reporters.frame import write_frame
from tracegraph.store.session import open_database
from tracegraph.store.storing import turn_to_write


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
    with (
        context.progress() as progress,
        # Beside a load of a run, changes would be taken for the load's own and be lost by a later rebuild.
        turn_to_write(context.workspace, progress) if write else nullcontext(),
        open_database(context.workspace, context.connection, progress) as database,
    ):
        if write:
            rows, changed = database.change(query, parameters)
            counts = ", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in changed.items())
            click.echo(counts or "nothing changed", err=True)
        else:
            rows = database.read(query, parameters)
    if len(rows.columns):
        write_frame(rows, form, output)
