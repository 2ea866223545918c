"""`tracegraph diff`: what differs between two runs, ranks or steps, and what decides the length."""

import glob
import json
import os
import re
from pathlib import Path

import click
from rich.text import Text

from tracegraph.base.errors import InputError
from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import folder_option, form_of, full_names_option, stored_runs
from tracegraph.cli.reporters.every_section import print_sections
from tracegraph.cli.reporters.frame import write_utf8
from tracegraph.cli.reporters.layout import open_console
from tracegraph.cli.reporters.markdown import facts_as_markdown
from tracegraph.ingest.sources.expand import find_sources
from tracegraph.queries.runs import unknown_run
from tracegraph.workbench.bench import Workbench
from tracegraph.workbench.run import Run
from tracegraph.workbench.text.text import visible

_EXCEEDED = 1
"""The exit code if B is longer than --fail-above allows."""
_PAIR = re.compile(r"(-?\d{1,9})(?::(-?\d{1,9}))?")
Pair = tuple[int | None, int | None]


def _pair(ctx: click.Context, option: click.Parameter, text: str | None) -> Pair:
    """Parse the number for A and the one for B, which are the same if only one is given."""
    if text is None:
        return None, None
    found = _PAIR.fullmatch(text.strip())
    if found is None:
        raise InputError(
            f"{option.opts[0]} {text} is no number", f"write {option.opts[0]} 3, or 3:5 for A and B"
        )
    return int(found[1]), int(found[2] or found[1])


@click.command()
@click.argument("first", metavar="A", shell_complete=stored_runs)
@click.argument("second", metavar="[B]", required=False, shell_complete=stored_runs)
@click.option("--rank", metavar="R[:R]", callback=_pair, help="Rank in A and in B; default: all of them.")
@click.option(
    "--step", metavar="N[:M]", callback=_pair, help="Step in A and in B: the number in ProfilerStep#N."
)
@full_names_option
@form_of(
    "table",
    "json",
    "md",
    meaning="table: for people; json: as diff.json; md: what is said first, in Markdown, as for a pull "
    "request.",
)
@folder_option("Folder for diff.html, diff.json and a CSV file for each table.")
@click.option(
    "--fail-above",
    type=int,
    metavar="NS",
    help="End with exit code 1 where B is more than NS longer than A, beyond what chance brings.",
)
@pass_context
def diff(
    context: Context,
    *,
    first: str,
    second: str | None,
    rank: Pair,
    step: Pair,
    full_names: bool,
    form: str,
    output: Path | None,
    fail_above: int | None,
) -> int:
    """Say what differs from A to B, and what of the critical path makes B longer or shorter.

    A and B are stored runs, or traces, which are ingested first: files, folders, patterns or URLs. Without B
    two ranks or two steps of A are compared, as --step 4:5. Runs with other numbers of steps are compared by
    one step of each, the one nearest to the median. Whether the difference is more than chance brings is told
    by all steps, if each side has five.
    """
    with context.bench() as bench:
        a = _run(bench, first)
        b = a if second is None else _run(bench, second)
        found = a.diff(b, rank=rank[0], rank_b=rank[1], step=step[0], step_b=step[1])
        written = None if output is None else found.save(output)
    if form == "json":
        click.echo(json.dumps(found.as_json(), indent=1))
    elif form == "md":
        write_utf8(facts_as_markdown(f"{found.scope.a.title} → {found.scope.b.title}", found.facts))
    else:
        console = open_console()
        print_sections(console, found.sections, full_names=full_names)
        if written is not None:
            console.print(Text(f"in {visible(str(output))}: {', '.join(written.files)}"))
    if fail_above is None:
        return 0
    gate = found.held_to(fail_above)
    if gate.words and not context.quiet:
        click.echo(gate.words, err=True)
    return _EXCEEDED if gate.is_exceeded else 0


def _run(bench: Workbench, named: str) -> Run:
    """Return the stored run of that name, else ingest the trace of that name."""
    with bench.answers() as answers:
        if named in set(answers.of("runs", {})["name"]):
            return bench.run(named)
        if not (os.path.exists(named) or glob.has_magic(named) or "://" in named):
            if os.sep in named:
                raise InputError(
                    f"there is no run or trace named {named!r}", "tracegraph runs lists the runs"
                )
            raise unknown_run(answers.of, named)
    with bench.storing(find_sources([named])) as stored:
        return Run(bench, stored.tables.run)
