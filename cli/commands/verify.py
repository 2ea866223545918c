"""`tracegraph verify`: whether what a scenario predicted came true in a run recorded later."""

import json

import click

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import stored_runs
from tracegraph.cli.reporters.layout import open_console
from tracegraph.cli.reporters.verify import print_verification

_REFUTED = 1


@click.command()
@click.argument("scenario", shell_complete=stored_runs)
@click.argument("later", metavar="LATER_RUN", shell_complete=stored_runs)
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Form."
)
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
