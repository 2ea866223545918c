"""`tracegraph plan`: which fixes to make, and what several of them gain together."""

import json

import click
from rich.console import Console
from rich.text import Text

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import form_option, name_option
from tracegraph.cli.reporters.layout import indented, open_console, print_command, table
from tracegraph.workbench.findings.first_fix import NOTHING
from tracegraph.workbench.text.text import format_ns, visible
from tracegraph.workbench.what_if.defaults import FIXES_WANTED
from tracegraph.workbench.what_if.plan import Plan
from tracegraph.workbench.what_if.plan_words import (
    ENDED,
    TOGETHER,
    fixes_words,
    floor_words,
    headline,
    step_words,
)


def print_plan(console: Console, found: Plan) -> None:
    """Print how long the run is after the best fixes, what pays together, and the floors."""
    console.print(Text(visible(headline(found)), style="bold"))
    if not found.steps:
        console.print(indented(Text(NOTHING)))
    for count, one in enumerate(found.steps, 1):
        console.print(indented(Text(step_words(found, count), style="bold")))
        console.print(indented(indented(Text(fixes_words(one)))))
        print_command(console, f"    {visible(one.command)}", style="dim")
    if found.steps and found.ended:
        console.print(indented(Text(ENDED)))
    if found.together:
        rows = table(TOGETHER, ">gain")
        for one in found.together:
            rows.add_row(fixes_words(one), format_ns(one.gain_ns))
        console.print(indented(rows))
    floor = floor_words(found)
    if floor is not None:
        console.print(indented(Text(floor)))


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
