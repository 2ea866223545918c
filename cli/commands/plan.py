"""`tracegraph plan`: which fixes to make, and what several of them gain together."""

import json
from collections.abc import Sequence

import click
from rich.console import Console
from rich.text import Text

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import form_option, name_option
from tracegraph.cli.reporters.layout import indented, open_console, table
from tracegraph.workbench.findings.first_fix import NOTHING
from tracegraph.workbench.text.text import format_ns, format_times, label, visible
from tracegraph.workbench.what_if.plan import FIXES_WANTED, Made, Plan

_NAME_CELLS = 90
"""How many cells of the terminal a name may take before it is shortened."""


def print_plan(console: Console, found: Plan) -> None:
    """Print how long the run is after the best fixes, what pays together, and the floors."""
    console.print(Text(f"{visible(found.run)}: {format_ns(found.base_ns)} without recording", style="bold"))
    if not found.steps:
        console.print(indented(Text(NOTHING)))
    for count, one in enumerate(found.steps, 1):
        times = format_times(found.base_ns / max(one.length_ns, 1))
        word = "fix" if count == 1 else "fixes"
        said = f"{count} {word}: {format_ns(one.length_ns)}, {times} times as fast"
        console.print(indented(Text(said, style="bold")))
        console.print(indented(indented(Text(_told(one)))))
        console.print(indented(indented(Text(visible(one.command), style="dim"))))
    if found.together:
        rows = table("pays together", ">gain")
        for one in found.together:
            rows.add_row(_told(one), format_ns(one.gain_ns))
        console.print(indented(rows))
    _print_floors(console, found.floors)


def _told(one: Made) -> str:
    pairs = zip(one.titles, one.selectors, strict=True)
    return "; ".join(f"{title} ({label(selector, _NAME_CELLS)})" for title, selector in pairs)


def _print_floors(console: Console, floors: Sequence[dict[str, object]]) -> None:
    for floor in floors[:1]:
        length = floor["length_ns"]
        assert isinstance(length, int)
        name = label(str(floor["name"]), _NAME_CELLS)
        said = f"no schedule of the work as recorded is shorter than {format_ns(length)}"
        console.print(indented(Text(f"{said}: {floor['floor']}, {name}")))


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
