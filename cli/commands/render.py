"""`tracegraph render`: parts of the graph as pictures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tracegraph.cli.command_group import CommandGroup
from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import (
    RUN_OF_QUERY,
    Part,
    file_option,
    name_option,
    parameter_option,
    parse_values,
    part_options,
)
from tracegraph.workbench.methods.flame import FLAME_FORMATS
from tracegraph.workbench.methods.memory_picture import SHOWN
from tracegraph.workbench.methods.own_query import refuse_empty
from tracegraph.workbench.methods.picture_file import picture_format

_Command = TypeVar("_Command", bound=Callable[..., Any])
_MOST = 2**63 - 1  # the largest integer that a property of the database holds


@click.group(cls=CommandGroup)
def render() -> None:
    """Draw a part of the graph into FILE: .svg, .png, .pdf or .dot."""


def _output(command: _Command) -> _Command:
    return file_option("File to draw into.", required=True)(command)


def _run(command: _Command) -> _Command:
    return name_option("Name of the run; default: the newest.")(command)


_part = part_options("Only this")


@render.command("critical-path")
@_part
@_run
@_output
@pass_context
def critical_path(
    context: Context,
    *,
    part: Part,
    name: str | None,
    output: Path,
) -> None:
    """Draw the critical path: its longest stretches, a column a lane."""
    _draw(context, name, output, "critical_path", **part)


@render.command()
@_part
@click.option("--off-path", is_flag=True, help="The work that is not on the path instead.")
@_run
@_output
@pass_context
def flame(
    context: Context,
    *,
    part: Part,
    off_path: bool,
    name: str | None,
    output: Path,
) -> None:
    """Draw where in the call stacks the critical path runs: a flame graph.

    GPU work stands below the call that launched it. FILE may also end in .folded (for flamegraph.pl) or
    .speedscope.json (for speedscope.app).
    """
    picture_format(output, *FLAME_FORMATS)  # before anything is asked
    with context.bench() as bench, bench.answers():
        picture = bench.run(name).picture("flame", **part, off_path=off_path)
    picture.write(output)


@render.command()
@click.argument("event_name", metavar="NAME")
@click.option("--count", type=click.IntRange(1, 100), default=3, show_default=True, help="Stretches shown.")
@_part
@_run
@_output
@pass_context
def hotspot(
    context: Context,
    *,
    event_name: str,
    count: int,
    part: Part,
    name: str | None,
    output: Path,
) -> None:
    """Draw the longest stretches of events called NAME on the path, with all their causes and effects.

    NAME is a name, else a glob of * and ?, else a part of names: of several the one that takes longest.
    """
    _draw(context, name, output, "hotspot", event_name, count=count, **part)


@render.command()
@click.argument("source_index", type=click.IntRange(0, _MOST))
@click.option(
    "--rank", type=click.IntRange(0), help="Rank of the event's file; default: the first of the run."
)
@click.option("--depth", type=click.IntRange(1, 50), default=5, show_default=True, help="Causes back.")
@_run
@_output
@pass_context
def event(
    context: Context, *, source_index: int, rank: int | None, depth: int, name: str | None, output: Path
) -> None:
    """Draw why an event started when it did: its causes, back to a depth.

    SOURCE_INDEX is its position in the file's traceEvents, as in critical_path.csv.
    """
    _draw(context, name, output, "event", source_index, rank=rank, depth=depth)


@render.command()
@click.argument("number", type=int)
@_run
@_output
@pass_context
def step(context: Context, number: int, name: str | None, output: Path) -> None:
    """Draw the lanes of step NUMBER and what they cause on each other."""
    _draw(context, name, output, "step", number)


@render.command()
@click.option(
    "--show",
    type=click.Choice(list(SHOWN)),
    default=next(iter(SHOWN)),
    show_default=True,
    help="Classes over time with the peak, steps and phases; where the peak was allocated; the allocator's "
    "segments.",
)
@click.option("--recording", help="Part of the recording's path; default: the first.")
@click.option("--device", type=click.IntRange(0, _MOST), help="Index of the device; default: the first.")
@_run
@_output
@pass_context
def memory(
    context: Context,
    *,
    show: str,
    recording: str | None,
    device: int | None,
    name: str | None,
    output: Path,
) -> None:
    """Draw what fills the memory of a device, by a recording that was given with the run.

    A recording is a snapshot of the CUDA allocator or a memory timeline, which `tracegraph attach RUN FILE`
    gives. A timeline has classes over time only.
    """
    _draw(context, name, output, "memory", show, recording=recording, device=device)


@render.command()
@click.argument("query")
@name_option(RUN_OF_QUERY)
@parameter_option
@_output
@pass_context
def cypher(
    context: Context, query: str, *, name: str | None, assignments: tuple[str, ...], output: Path
) -> None:
    """Draw the nodes, relationships and paths that the Cypher QUERY returns; it may not write.

    $run in it is the name of a run: that of --run or -p run=NAME, else the newest.
    """
    refuse_empty(query)
    picture_format(output)  # before anything is asked
    parameters = parse_values(assignments)
    with context.bench() as bench:
        picture = bench.picture(query, name, **parameters)
    picture.write(output)


def _draw(
    context: Context, run: str | None, output: Path, what: str, /, *arguments: object, **options: object
) -> None:
    picture_format(output)  # before anything is asked
    with context.bench() as bench, bench.answers():
        picture = bench.run(run).picture(what, *arguments, **options)
    picture.write(output)
