"""`tracegraph render`: parts of the graph as pictures."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from tracegraph.cli.answers import answers_for
from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import check_query, parameter_option, parse_values
from tracegraph.cli.reporters.drawing import FORMATS, draw
from tracegraph.cli.reporters.graphs import causes_picture, lanes_picture, result_picture
from tracegraph.cli.reporters.picture import path_picture
from tracegraph.cli.reporters.text import format_ns, label
from tracegraph.queries.answers import Answers
from tracegraph.queries.runs import find_window, first_rank, ready_run
from tracegraph.store.errors import InputError
from tracegraph.store.session import open_database

_Command = TypeVar("_Command", bound=Callable[..., Any])
_TITLE_CELLS = 60
_MOST = 2**63 - 1  # what a property of the database holds


@click.group()
def render() -> None:
    """Draw a part of the graph into FILE: .svg, .png, .pdf or .dot."""


def _output(command: _Command) -> _Command:
    return click.option(
        "-o",
        "--output",
        required=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help="File to draw into.",
    )(command)


def _run(command: _Command) -> _Command:
    return click.option("--run", "name", help="Name of the run; default: the newest.")(command)


def _step(command: _Command) -> _Command:
    return click.option("--step", type=int, help="Only this step: the number in ProfilerStep#N.")(command)


@render.command("critical-path")
@_step
@_run
@_output
@pass_context
def critical_path(context: Context, step: int | None, name: str | None, output: Path) -> None:
    """Draw the critical path: its longest stretches, a column a lane."""
    with _answers(context, output) as answers:
        run = ready_run(answers.of, name)
        window = find_window(answers.of, run, step)
        rows = answers.of("critical_path", {"run": run, **vars(window)})
        lanes = answers.of("lanes", {"run": run})
    _write(path_picture(run, step, rows, lanes), output)


@render.command()
@click.argument("event_name", metavar="NAME")
@click.option("--count", type=click.IntRange(1, 100), default=3, show_default=True, help="Stretches shown.")
@_step
@_run
@_output
@pass_context
def hotspot(
    context: Context, *, event_name: str, count: int, step: int | None, name: str | None, output: Path
) -> None:
    """Draw the longest stretches of events called NAME on the path, with all their causes and effects."""
    with _answers(context, output) as answers:
        run = ready_run(answers.of, name)
        window = find_window(answers.of, run, step)
        asked = {"run": run, **vars(window), "name": event_name, "limit": count}
        edges = answers.of("hotspot_neighbourhood", asked)
        lanes = answers.of("lanes", {"run": run})
    if edges.empty:
        raise InputError(
            f"no event named {event_name!r} is on the path", "tracegraph report lists those that are"
        )
    title = f"{label(event_name, _TITLE_CELLS)}: causes and effects (solid: explains the start)"
    _write(causes_picture(title, edges, lanes, window.start_ns), output)


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
    with _answers(context, output) as answers:
        run = ready_run(answers.of, name)
        rank = first_rank(answers.of, run) if rank is None else rank
        of_event = {"run": run, "source_index": source_index, "rank": rank}
        edges = answers.of("event_history", {**of_event, "depth": depth})
        lanes = answers.of("lanes", {"run": run})
        origin_ns = int(answers.of("run_details", {"run": run})["window_start_ns"].iloc[0])
        known = not answers.of("call_tree", {**of_event, "depth": 0}).empty
    if not known:
        raise InputError(
            f"there is no event {source_index} of rank {rank} in run {run!r}",
            "give the source_index of a row of critical_path.csv",
        )
    if edges.empty:
        raise InputError(
            f"event {source_index} of rank {rank} has no causes in run {run!r}",
            "give the source_index of a row of critical_path.csv",
        )
    title = f"Causes of event {source_index}, {depth} back"
    _write(causes_picture(title, edges, lanes, origin_ns), output)


@render.command()
@click.argument("number", type=int)
@_run
@_output
@pass_context
def step(context: Context, number: int, name: str | None, output: Path) -> None:
    """Draw the lanes of step NUMBER and what they cause on each other."""
    with _answers(context, output) as answers:
        run = ready_run(answers.of, name)
        window = find_window(answers.of, run, number)
        between = {"run": run, "start_ns": window.start_ns, "end_ns": window.end_ns}
        edges = answers.of("lane_dependencies", between)
        lanes = answers.of("lanes", {"run": run})
    length = format_ns(window.end_ns - window.start_ns)
    title = f"Step {number} of {label(run, _TITLE_CELLS)}, {length}: lanes and hand-overs"
    _write(lanes_picture(title, edges, lanes), output)


@render.command()
@click.argument("query")
@parameter_option
@_output
@pass_context
def cypher(context: Context, query: str, assignments: tuple[str, ...], output: Path) -> None:
    """Draw the nodes, relationships and paths that the Cypher QUERY returns; it may not write."""
    check_query(query)
    parameters = parse_values(assignments)
    with _answers(context, output) as answers:
        rows = answers.database.read(query, parameters)
    _write(result_picture(label(query, _TITLE_CELLS), rows), output)


@contextmanager
def _answers(context: Context, output: Path) -> Iterator[Answers]:
    """Open the database once it is clear that the picture can have its format."""
    _format(output)
    with (
        context.progress() as progress,
        open_database(context.workspace, context.connection, progress) as database,
    ):
        progress("asking the database", 0, 0)
        yield answers_for(context, database, progress)


def _format(output: Path) -> str:
    suffix = output.suffix.lstrip(".").lower()
    if suffix not in FORMATS:
        raise InputError(f"{output} names no picture format", f"end it with .{', .'.join(FORMATS)}")
    return suffix


def _write(source: str, output: Path) -> None:
    picture = draw(source, _format(output))
    try:
        output.write_bytes(picture)
    except OSError as error:
        raise InputError(f"cannot write {output}: {error.strerror}", "choose another file with -o") from error
