"""`tracegraph what-if`: by how much a run or step is shorter where something takes less time."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import folder_option, form_option, name_option, named
from tracegraph.cli.reporters.layout import facts, indented, open_console, table
from tracegraph.ingest.what_if.fixes.registry import ASKED, PRECISIONS
from tracegraph.ingest.what_if.settings import Settings
from tracegraph.workbench.text.names import readable
from tracegraph.workbench.text.text import format_ns, label, plural, visible
from tracegraph.workbench.what_if.answer import WhatIf
from tracegraph.workbench.what_if.answer_words import (
    MOST_NAMES,
    NAME_CELLS,
    PREDICTED,
    answer_facts,
    critical_then,
    headline,
)
from tracegraph.workbench.what_if.assumptions import ASSUMPTIONS, INFINITE_BANDWIDTH, NO_STRAGGLERS
from tracegraph.workbench.what_if.defaults import AUTO
from tracegraph.workbench.what_if.selector import KEYS

_EXCEEDED = 1
"""The exit code if more time is left than --fail-above allows."""
_SELECTOR = f"SEL is key=value, joined by commas; keys: {', '.join(KEYS)}."
_Command = Callable[..., int]


def print_what_if(
    console: Console, found: WhatIf, folder: Path | None, files: Sequence[str], kept: str | None = None
) -> None:
    """Print the prediction first, then what it is about and what it rests on.

    Parameters
    ----------
    folder, files
        Where the answer was saved, and the names of the files; None and empty if it was not.
    kept
        The name of the run that the changed graph was stored as.
    """
    console.print(Text(visible(headline(found)), style="bold"))
    lines = facts()
    for fact in answer_facts(found):
        lines.add_row(fact.word, Text(fact.text, style="bold" if fact.word == PREDICTED else ""))
    console.print(indented(lines))
    _print_matched(console, found)
    for note in found.notes:
        console.print(indented(Text(note)))
    then = critical_then(found)
    if then is not None:
        console.print(indented(Text(f"{then.word}: {then.text}")))
    if folder is not None:
        console.print(indented(Text(f"in {visible(str(folder))}: {', '.join(files)}")))
    if kept is not None:
        console.print(indented(Text(f"kept as the run {visible(kept)}, at the naive times")))


def _print_matched(console: Console, found: WhatIf) -> None:
    rows = table("matched", ">count", ">own time")
    shown = readable(one.name for one in found.matched)
    for one in found.matched[:MOST_NAMES]:
        rows.add_row(label(shown[one.name], NAME_CELLS), f"{one.count:,}", format_ns(one.own_ns))
    console.print(indented(rows))
    if len(found.matched) > MOST_NAMES:
        console.print(indented(Text(f"and {plural(len(found.matched) - MOST_NAMES, 'more name')}")))


def _fix_options(command: _Command) -> _Command:
    """Add an option for each fix that has one."""
    for name, fix in reversed([one for one in ASKED.items() if one[0] not in PRECISIONS]):
        help_text = f"{fix.title}: {fix.replayed}."
        words, many = (f"--{name}", name.replace("-", "_")), not fix.unit
        option = click.option(*words, metavar=fix.argument, multiple=many, help=help_text)
        command = option(command)
    return command


@click.command(name="what-if")
@click.option(
    "--remove",
    metavar="SEL",
    multiple=True,
    help=f"What takes no time. {_SELECTOR}",
)
@click.option(
    "--scale",
    metavar="FACTOR SEL",
    type=(float, str),
    multiple=True,
    help="What takes FACTOR times its time: 0.5 halves it.",
)
@click.option(
    "--remove-wait", metavar="GAP", multiple=True, help="A gap by its name, as `GIL`: its waits end at once."
)
@click.option(
    "--no-stragglers",
    "assume",
    flag_value=NO_STRAGGLERS,
    multiple=True,
    help=f"Of several ranks: {ASSUMPTIONS[NO_STRAGGLERS].meaning}.",
)
@click.option(
    "--infinite-bandwidth",
    "assume",
    flag_value=INFINITE_BANDWIDTH,
    multiple=True,
    help=f"Of several ranks: {ASSUMPTIONS[INFINITE_BANDWIDTH].meaning}.",
)
@_fix_options
@click.option(
    "--precision",
    type=(click.Choice(PRECISIONS), str),
    metavar=f"{'|'.join(PRECISIONS)} SEL",
    multiple=True,
    help=f"Lower precision: {ASKED[PRECISIONS[0]].replayed}.",
)
@click.option(
    "--depth",
    type=click.IntRange(1),
    default=Settings.depth,
    show_default=True,
    help="With --prefetch: how many are ready ahead for each worker; with --ahead: how many transfers.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=Settings.workers,
    show_default=True,
    help="With --prefetch: how many threads make them in turn.",
)
@click.option("--step", type=int, help="Predict this step, by its number, its start fixed.")
@click.option(
    "--overhead",
    default=AUTO,
    show_default=True,
    metavar="auto|none|NS",
    help="What recording an event cost: estimated from the file, nothing, or NS a Python frame or operator.",
)
@form_option
@folder_option("Folder for what_if.json and predicted.json.gz, the predicted timeline for Perfetto.")
@click.option(
    "--keep",
    metavar="NAME",
    callback=named,
    help="Store the changed graph as the run NAME: to query, render and report on, and for verify.",
)
@click.option(
    "--fail-above", type=int, metavar="NS", help="End with exit code 1 where more than NS are left."
)
@name_option("Name of the run; default: the newest.")
@pass_context
def what_if(
    context: Context,
    /,
    *,
    remove: tuple[str, ...],
    scale: tuple[tuple[float, str], ...],
    remove_wait: tuple[str, ...],
    assume: tuple[str, ...],
    step: int | None,
    overhead: str,
    form: str,
    output: Path | None,
    keep: str | None,
    fail_above: int | None,
    depth: int,
    workers: int,
    precision: tuple[tuple[str, str], ...],
    name: str | None,
    **fixes: tuple[str, ...] | str | None,
) -> int:
    """Predict a run or step where something takes less time, by a replay of its causal graph.

    The graph keeps everything else: what else is waited for, launches, queues. Names are matched exactly,
    else by the wildcards * and ?, else as a part.
    """
    with context.bench() as bench:
        run = bench.kept_run(name)
        found = run.what_if(
            remove,
            scale=scale,
            remove_wait=remove_wait,
            assume=assume,
            step=step,
            overhead=overhead,
            depth=depth,
            workers=workers,
            precision=precision,
            **{one: given for one, given in fixes.items() if given is not None},
        )
        files = () if output is None else found.save(output)
        if keep is not None:
            found.keep(keep)
    if form == "json":
        click.echo(json.dumps(found.as_json(), indent=1))
    else:
        print_what_if(open_console(), found, output, files, keep)
    left = found.prediction.corrected.predicted_ns
    return _EXCEEDED if fail_above is not None and left > fail_above else 0
