"""The options that say what no trace says of the job."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from tracegraph.base.errors import InputError
from tracegraph.base.json_object import read_object
from tracegraph.base.suggest import did_you_mean
from tracegraph.cli.context import Context
from tracegraph.queries.shapes.links.link_use import stated_link
from tracegraph.queries.shapes.peak.job import Job
from tracegraph.workbench.text.text import visible


def _checked(_: click.Context, __: click.Parameter, link: str | None) -> str | None:
    """Refuse a link that nobody knows before traces are read."""
    stated_link(link)
    return link


def read_job(file: Path) -> dict[str, object]:
    """Read what a file says of the job: one JSON object, whose names are those of the options.

    Raises
    ------
    InputError
        The file cannot be read, holds no JSON object, or names something else.
    """
    found = read_object(file, "the job", "is", _HINT)
    known = [field.name for field in fields(Job)]
    for name in found:
        if name not in known:
            raise InputError(
                f"the job in {file} has no {name!r}", did_you_mean(name, known, ", ".join(known))
            )
    return found


def _as_defaults(ctx: click.Context, _: click.Parameter, file: Path | None) -> None:
    """Let what the file says be the defaults of the options, which check it as they check what is typed."""
    if file is not None:
        ctx.default_map = {**(ctx.default_map or {}), **read_job(file)}


_HINT = 'write one JSON object, such as {"gpus": 64, "tokens": 4194304, "params": 7000000000}'
job_file_option = functools.partial(
    click.option,
    "--job",
    "job_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="JSON file with what these options say of the job, by their names; an option counts more.",
)
"""The option that names a file of the job; `expose_value` and `callback` are the command's."""
_OPTIONS = (
    job_file_option(is_eager=True, expose_value=False, callback=_as_defaults),
    click.option("--gpus", type=click.IntRange(1), help="GPUs of the job: gains in GPU-hours a day, too."),
    click.option(
        "--batch", type=click.IntRange(1), help="Samples of a step on all GPUs: gains in samples a second."
    ),
    click.option(
        "--tokens", type=click.IntRange(1), help="Tokens of a step on all GPUs: gains in tokens a second."
    ),
    click.option(
        "--params",
        type=click.IntRange(1),
        help="Parameters of the model, of experts the active ones: with --tokens the share of the peak.",
    ),
    click.option(
        "--model",
        type=click.Path(exists=True, dir_okay=False),
        help="The model's config.json, whose FLOPs are counted layer by layer: with --tokens and --batch the "
        "share of the peak.",
    ),
    click.option(
        "--peak",
        type=click.FloatRange(0, min_open=True),
        help="Peak of a GPU in TFLOP/s, where it is not that of its data sheet.",
    ),
    click.option("--device", help="Name of the GPUs, where the file does not state it, such as 'H100 PCIe'."),
    click.option(
        "--link",
        callback=_checked,
        help="What carries communication, where files do not tell: GB/s of a GPU in one direction, or a name "
        "such as NDR.",
    ),
)


def say_instead(context: Context, sentences: Iterable[str]) -> None:
    """Tell the user on stderr what counts instead of what was stored with the run."""
    for sentence in () if context.quiet else sentences:
        click.echo(visible(sentence), err=True)


def job_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --job, --gpus, --batch, --tokens, --params, --model, --peak, --device, --link: argument `job`."""

    @functools.wraps(command)
    def bundled(
        *arguments: object,
        gpus: int | None,
        batch: int | None,
        tokens: int | None,
        params: int | None,
        model: str | None,
        peak: float | None,
        device: str | None,
        link: str | None,
        **others: object,
    ) -> Any:
        job = Job(gpus, batch, tokens, params, model, peak, device, link)
        return command(*arguments, job=job, **others)

    for add in reversed(_OPTIONS):
        bundled = add(bundled)
    return bundled
