"""`tracegraph plan`: which fixes to make, and what several of them gain together."""

import json

import click

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import form_option, name_option
from tracegraph.cli.reporters.layout import open_console
from tracegraph.cli.reporters.plan import print_plan
from tracegraph.workbench.what_if.plan import FIXES_WANTED


@click.command()
@click.option(
    "--fixes",
    type=click.IntRange(1),
    default=FIXES_WANTED,
    show_default=True,
    metavar="K",
    help="How many to make at most.",
)
@form_option
@name_option("Name of the run; default: the newest.")
@pass_context
def plan(context: Context, *, fixes: int, form: str, name: str | None) -> None:
    """Search for the best fix, the best two, and greedily for more, each set replayed as a whole.

    The fixes are those that the run shows; docs/fixes.md lists all kinds.
    """
    with context.bench() as bench:
        found = bench.kept_run(name).plan(fixes)
    if form == "json":
        click.echo(json.dumps(found.as_json(), indent=1))
    else:
        print_plan(open_console(), found)
