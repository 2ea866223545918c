"""`tracegraph verify`: whether what a scenario predicted came true in a run recorded later."""

import json

import click
from rich.console import Console
from rich.text import Text

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import form_option, stored_runs
from tracegraph.cli.reporters.layout import facts, indented, open_console, table
from tracegraph.workbench.text.text import format_ns, label, plural, visible
from tracegraph.workbench.verify import Measured, Verification

_NAME_CELLS = 60
"""How many cells of the terminal a name may take before it is shortened."""
_REFUTED = 1
"""The exit code if the prediction does not hold."""


def print_verification(console: Console, found: Verification) -> None:
    """Print whether the prediction holds, both gains, and what is not as it was assumed."""
    runs = f"{visible(found.base)} → {visible(found.later)}, as {visible(found.scenario)} predicted"
    console.print(Text(runs, style="bold"))
    lines = facts()
    verdict = "holds: a gain that was measured may be one that was predicted"
    refuted = "does not hold: the measured gain is none of those predicted"
    lines.add_row("prediction", Text(verdict if found.holds else refuted, style="bold"))
    one = found.predicted
    unit = "a step" if found.measured.steps_base else "of the run"
    gain = f"gain {format_ns(one.gain_ns)} {unit}, as recorded"
    lines.add_row("predicted", f"{gain}; {format_ns(one.low_ns)} to {format_ns(one.high_ns)}")
    lines.add_row("measured", f"gain {format_ns(found.measured.gain_ns)} {unit}; {_interval(found.measured)}")
    console.print(indented(lines))
    if found.changed:
        rows = table("own time unlike assumed", "category", ">before", ">assumed", ">later")
        for name in found.changed:
            times = (format_ns(ns) for ns in (name.base_ns, name.predicted_ns, name.later_ns))
            rows.add_row(label(name.name, _NAME_CELLS), visible(name.category), *times)
        console.print(indented(rows))


def _interval(measured: Measured) -> str:
    if measured.low_ns is None or measured.high_ns is None:
        return "no run has steps: one value, no interval"
    steps = f"{plural(measured.steps_base, 'step')} before, {plural(measured.steps_later, 'step')} later"
    return f"{format_ns(measured.low_ns)} to {format_ns(measured.high_ns)} (95 %, Welch; {steps})"


@click.command()
@click.argument("scenario", shell_complete=stored_runs)
@click.argument("later", metavar="LATER_RUN", shell_complete=stored_runs)
@form_option
@pass_context
def verify(context: Context, scenario: str, later: str, form: str) -> int:
    """Compare LATER_RUN, recorded after a change was made, with what SCENARIO predicted of it.

    SCENARIO is a run that `what-if --keep` made. Exit code 1: the interval of the measured gain and the
    range of the predicted one have nothing in common.
    """
    with context.bench() as bench:
        found = bench.verify(scenario, later)
    if form == "json":
        click.echo(json.dumps(found.as_json(), indent=1))
    else:
        print_verification(open_console(), found)
    return 0 if found.holds else _REFUTED
