"""The options that say what no trace says of the job."""

import functools
from collections.abc import Callable

import click

from tracegraph.queries.shapes.links.link_use import stated_link
from tracegraph.queries.shapes.peak.job import Job


def _checked(_: click.Context, __: click.Parameter, link: str | None) -> str | None:
    """Refuse a link that nobody knows before traces are read."""
    stated_link(link)
    return link


_OPTIONS = (
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


def job_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --gpus, --batch, --tokens, --params, --model, --peak, --device and --link: argument `job`."""

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
    ) -> None:
        job = Job(gpus, batch, tokens, params, model, peak, device, link)
        command(*arguments, job=job, **others)

    for add in reversed(_OPTIONS):
        bundled = add(bundled)
    return bundled
