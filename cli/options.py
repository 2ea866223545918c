"""Options that several commands share."""

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypedDict, TypeVar, cast

import click

from tracegraph.base.errors import InputError
from tracegraph.base.suggest import did_you_mean
from tracegraph.ingest.limits import Limits
from tracegraph.store.managed.rebuild.estimate import LOADS
from tracegraph.store.places import default_root
from tracegraph.store.workspace import Workspace
from tracegraph.vocabulary.phases import PHASE_NAMES

FORMATS = ("table", "csv", "json", "parquet")
RUN_OF_QUERY = "Name of the run that $run is; default: the newest."
_SIZE = re.compile(r"([1-9][0-9_,]{0,17})(KiB|MiB|GiB|)", re.IGNORECASE)
"""A whole number with an optional binary unit; 18 digits at most."""
_UNITS = {"": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_FORCE = "tracegraph.force"
_Command = TypeVar("_Command", bound=Callable[..., Any])


class Part(TypedDict):
    """What part of a run a command is about, as `Run.report` and pictures take it."""

    step: int | None
    phase: str | None
    occurrence: int | None


def result_options(command: _Command) -> _Command:
    """Add --format, --raw, -o and --force to a command whose result is a table: `form`, `raw`, `output`."""
    command = click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="Form of the rows.",
    )(command)
    command = click.option(
        "--raw",
        is_flag=True,
        help="CSV with every text as it is; else none is a formula to a spreadsheet, and control characters "
        "are written as escapes.",
    )(command)
    return file_option("File to write the rows to; parquet needs one.")(command)


def file_option(meaning: str, *, required: bool = False) -> Callable[[_Command], _Command]:
    """Return a decorator that adds -o FILE, and --force to replace an existing file: argument `output`."""

    def add(command: _Command) -> _Command:
        command = click.option(
            "-o",
            "--output",
            required=required,
            type=click.Path(dir_okay=False, path_type=Path),
            callback=_new_file,
            help=meaning,
        )(command)
        return click.option(
            "--force",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_note_force,
            help="Replace the file if it exists.",
        )(command)

    return add


def _note_force(ctx: click.Context, option: click.Parameter, given: bool) -> None:
    ctx.meta[_FORCE] = given


def _new_file(ctx: click.Context, option: click.Parameter, file: Path | None) -> Path | None:
    """Refuse an existing file without --force; anything else, such as /dev/stdout, loses nothing."""
    if file is not None and os.path.isfile(file) and not ctx.meta[_FORCE]:
        raise InputError(f"{file} already exists", "choose another file, or replace it with --force")
    return file


def folder_option(meaning: str) -> Callable[[_Command], _Command]:
    """Return a decorator that adds -o FOLDER: argument `output`."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(file_okay=False),
        callback=_named_folder,
        help=meaning,
    )


def _named_folder(ctx: click.Context, option: click.Parameter, folder: str | None) -> Path | None:
    """Turn the option into a path; refuse an empty name, which would be the current folder."""
    if folder is not None and not folder.strip():
        raise InputError("the name of the folder is empty", "give -o a name, or . for the current folder")
    return None if folder is None else Path(folder)


def timeout_option(default_s: float | None) -> Callable[[_Command], _Command]:
    """Return a decorator that adds --timeout: argument `limit_s`, in seconds, None for no limit."""

    def seconds(ctx: click.Context, option: click.Parameter, given: float | None) -> float | None:
        return given or None

    return click.option(
        "--timeout",
        "limit_s",
        type=click.FloatRange(0, 10_000_000),
        default=default_s,
        show_default=True,
        metavar="SECONDS",
        callback=seconds,
        help="How long the server may work on a question before it gives up; 0: as long as it takes.",
    )


def name_option(meaning: str) -> Callable[[_Command], _Command]:
    """Return a decorator that adds --run to a command: argument `name`, refused if it is blank."""
    return click.option("--run", "name", help=meaning, callback=named, shell_complete=stored_runs)


def stored_runs(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete the names of the kept runs; an external server is not asked and gives none."""
    given = ctx.find_root().params
    if given.get("uri") is not None:
        return []
    names = [str(one["run"]) for one in Workspace(given.get("workspace") or default_root()).manifests()]
    return [name for name in names if name.startswith(incomplete)]


def named(ctx: click.Context, option: click.Parameter, name: str | None) -> str | None:
    """Return the name of a run; refuse a blank one."""
    if name is not None and not name.strip():
        raise InputError("the name of the run is empty", f"give {option.opts[0]} a name, or leave it out")
    return name


def part_options(meaning: str) -> Callable[[_Command], _Command]:
    """Return a decorator that adds --step, --phase and --occurrence, which choose a part of a run."""

    def add(command: _Command) -> _Command:
        @wraps(command)
        def with_part(
            *arguments: Any, step: int | None, phase: str | None, occurrence: int | None, **options: Any
        ) -> object:
            part = Part(step=step, phase=phase, occurrence=occurrence)
            return command(*arguments, part=part, **options)

        options = (
            click.option("--step", type=int, help=f"{meaning} step, by its number."),
            click.option(
                "--phase",
                metavar="PHASE",
                help=f"{meaning} phase, of the step where there are steps: {', '.join(PHASE_NAMES)}.",
            ),
            click.option(
                "--occurrence",
                type=click.IntRange(1),
                help="Which of several phases of that name, 1 the first; by default the last.",
            ),
        )
        wrapped: Any = with_part
        for option in reversed(options):
            wrapped = option(wrapped)
        return cast(_Command, wrapped)

    return add


def load_option(command: _Command) -> _Command:
    """Add --load to a command that stores a run: argument `load`."""
    return click.option(
        "--load",
        type=click.Choice(LOADS),
        help="How the run gets into the managed database: `bulk` imports all runs anew, `bolt` adds this; "
        "default: the way estimated to be faster.",
    )(command)


def limit_option(command: _Command) -> _Command:
    """Add --limit NAME=N, which may be given several times: argument `limits`."""
    names = ", ".join(field.name for field in fields(Limits))
    return click.option(
        "--limit",
        "limits",
        multiple=True,
        metavar="NAME=N",
        callback=_limits,
        help=f"Raise a limit on what a trace may hold: {names}; such as unpacked=16GiB. "
        "How much text and how many events are the default depends on the memory (docs/integrity.md).",
    )(command)


def _limits(ctx: click.Context, option: click.Parameter, assignments: Sequence[str]) -> Limits:
    known = {field.name for field in fields(Limits)}
    values: dict[str, int] = {}
    for assignment in assignments:
        name, _, text = assignment.partition("=")
        if name not in known:
            listed = f"the limits are {', '.join(sorted(known))}"
            raise InputError(f"there is no limit {name!r}", did_you_mean(name, known, listed))
        match = _SIZE.fullmatch(text.strip())
        if match is None:
            raise InputError(
                f"--limit {assignment} is no limit", "write --limit NAME=N, such as unpacked=16GiB"
            )
        values[name] = int(re.sub("[_,]", "", match[1])) * _UNITS[match[2].lower()]
    return replace(Limits(), **values)


def parameter_option(command: _Command) -> _Command:
    """Add -p key=value, which may be given several times: argument `assignments`."""
    return click.option(
        "-p", "--param", "assignments", multiple=True, metavar="KEY=VALUE", help="A parameter of the query."
    )(command)


def parse_assignments(assignments: Sequence[str]) -> dict[str, str]:
    """Split assignments `key=value` into texts by key.

    Raises
    ------
    InputError
        An assignment has no `=`, or a key is given twice.
    """
    values: dict[str, str] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key:
            raise InputError(f"-p {assignment} is no parameter", "write -p key=value")
        if key in values:
            raise InputError(f"parameter {key} is given twice", "give it once")
        values[key] = value
    return values


def parse_values(assignments: Sequence[str]) -> dict[str, object]:
    """Parse assignments into values by key; each is read as JSON if it is JSON (limit=5), else as text."""
    return {key: _value(text) for key, text in parse_assignments(assignments).items()}


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def form_of(*forms: str, meaning: str) -> Callable[[_Command], _Command]:
    """Make the option --format, argument `form`, of these forms, of which the first is the default."""
    return click.option(
        "--format", "form", type=click.Choice(forms), default=forms[0], show_default=True, help=meaning
    )


form_option = form_of("table", "json", meaning="Form.")


def thresholds_option(meaning: str) -> Callable[[_Command], _Command]:
    """Make the option --thresholds, argument `thresholds_file`."""
    return click.option(
        "--thresholds", "thresholds_file", type=click.Path(dir_okay=False, path_type=Path), help=meaning
    )


full_names_option = click.option(
    "--full-names", is_flag=True, help="Names of events as they are in the file, not shortened."
)
