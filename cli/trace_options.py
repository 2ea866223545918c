"""Options of the commands that read traces: the files, their ranks, and how they become a run."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from tracegraph.base.errors import InputError
from tracegraph.cli.options import limit_option
from tracegraph.ingest.detail import DETAILS, FULL
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.options import IngestOptions
from tracegraph.store.schema.node_labels import CROSS_THREAD_POLICIES
from tracegraph.vocabulary.kernel_types import Spelling, read_spellings

_RANK_DIGITS = 6
"""A rank has at most this many digits; a longer number is a mistake."""
_Command = TypeVar("_Command", bound=Callable[..., Any])


def rank_option(command: _Command) -> _Command:
    """Add --rank-of FILE=N, which may be given several times: argument `ranks`, by file."""
    return click.option(
        "--rank-of",
        "ranks",
        multiple=True,
        metavar="FILE=N",
        callback=_ranks,
        help="Which rank a file is, whatever it says itself: FILE by its name or path, such as "
        "trace.json.gz=3; once for each file. Of a file of several ranks FILE#PROCESS=N.",
    )(command)


def _ranks(ctx: click.Context, option: click.Parameter, assignments: Sequence[str]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for assignment in assignments:
        file, equals, text = assignment.rpartition("=")
        if not (equals and file and text.isascii() and text.isdigit() and len(text) <= _RANK_DIGITS):
            raise InputError(
                f"--rank-of {assignment} names no rank", "write --rank-of FILE=N, such as trace.json.gz=3"
            )
        if file in ranks:
            raise InputError(f"--rank-of {file} is given twice", "give it once")
        ranks[file] = int(text)
    return ranks


def ingest_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --detail, --scheduler, --cross-thread and the options of files, --with and --limit: `options`."""

    @functools.wraps(command)
    def bundled(
        *arguments: object,
        limits: Limits,
        detail: str,
        cross_thread: str | None,
        scheduler: str | None,
        step_marker: str | None,
        spellings: tuple[Spelling, ...],
        companions: tuple[str, ...],
        **others: object,
    ) -> None:
        options = IngestOptions(
            limits, cross_thread, scheduler, step_marker, spellings, companions=companions, detail=detail
        )
        command(*arguments, options=options, **others)

    for add in (limit_option, *reversed(_OPTIONS)):
        bundled = add(bundled)
    return bundled


def reading_options(command: _Command) -> _Command:
    """Add --step-marker, --kernel-types and --limit: arguments `step_marker`, `spellings` and `limits`."""
    for add in (limit_option, *reversed(_OF_FILES)):
        command = add(command)
    return command


def _spellings(ctx: click.Context, option: click.Parameter, file: Path | None) -> tuple[Spelling, ...]:
    return () if file is None else read_spellings(file)


def _marker(ctx: click.Context, option: click.Parameter, marker: str | None) -> str | None:
    if marker is not None and not marker.strip():
        raise InputError("--step-marker names no annotation", "write it as --step-marker 'train_step*'")
    return marker


_OF_GRAPHS = (
    click.option(
        "--detail",
        type=click.Choice(DETAILS),
        default=FULL,
        show_default=True,
        help="How much of the ranks of a job is kept. full: all of each. path, for jobs of many ranks: all "
        "of those that the critical path is about and of a few to compare them with; of the others only "
        "their operations with other ranks and the times between these. `tracegraph runs load` takes more "
        "in full.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Read the files of several ranks on the workers of a Dask cluster, such as tls://host:8786; "
        "they must find the files under the same paths or URLs. Whoever owns that port can run any program "
        "as you, here too: give only an address that you trust, and tcp:// only on a network that you trust.",
    ),
    click.option(
        "--cross-thread",
        type=click.Choice(CROSS_THREAD_POLICIES),
        help="Dependencies between threads, chosen at ingest. evidence (the default): hand-overs that the "
        "trace shows or its times suggest; serialise: all threads of a process one after the other, as if "
        "the GIL let only one run; none: no thread waits for another.",
    ),
)
_OF_FILES = (
    click.option(
        "--step-marker",
        metavar="GLOB",
        callback=_marker,
        help="Annotations of yours that mark steps, such as 'train_step*', instead of the profiler's "
        "ProfilerStep#N, chosen at ingest; `*` and `?` are wildcards. A step has the number in its name, "
        "where all differ, else its place.",
    ),
    click.option(
        "--kernel-types",
        "spellings",
        type=click.Path(dir_okay=False, path_type=Path),
        envvar="TRACEGRAPH_KERNEL_TYPES",
        callback=_spellings,
        help="File that says which kernels compute, communicate or copy, where their names do not: a line is "
        "computation, communication or memory, then a regular expression; it goes before what is built in.",
    ),
)
_WITH = click.option(
    "--with",
    "companions",
    multiple=True,
    metavar="FILE",
    help="File that is not a trace but explains the job: a log of NCCL (NCCL_DEBUG=INFO), the output of its "
    "tests, a snapshot or timeline of memory; once for each file. `tracegraph attach` adds one later.",
)
_OPTIONS = (*_OF_GRAPHS, *_OF_FILES, _WITH)
