"""The files of all ranks, read at the same time where that pays."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from tracegraph.base.errors import InputError
from tracegraph.base.parallel import run_all
from tracegraph.base.progress import Progress, silent
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.ranks.capacity import count_workers, text_bytes
from tracegraph.ingest.ranks.part import Part
from tracegraph.ingest.ranks.processes import open_workers
from tracegraph.ingest.ranks.worker import Outcome, Task
from tracegraph.ingest.sources.source import Source

Outcomes = Generator[tuple[int, Outcome], None, None]
ReadAll = Callable[[Sequence[Task]], Outcomes]
"""Does tasks and yields, as they end, the place of each and what came of it; closed, it ends those left."""
_READING = "reading the files of all ranks"


def read_here(tasks: Sequence[Task]) -> Outcomes:
    """Read on this machine: in several processes where that is sooner done, else one file after the other."""
    count = count_workers([task.source for task in tasks])
    if not count:
        yield from ((k, task.outcome()) for k, task in enumerate(tasks))
        return
    largest_first = sorted(range(len(tasks)), key=lambda k: -text_bytes(tasks[k].source))
    with (
        open_workers(count) as workers,
        closing(run_all(lambda k: (k, workers.do(tasks[k])), largest_first, count, workers.kill)) as outcomes,
    ):
        try:
            for outcome in outcomes:  # noqa: UP028 (`yield from` would wait for what still runs)
                yield outcome
        except BaseException:
            workers.kill()
            raise


def read_parts(
    sources: Sequence[Source],
    policies: tuple[str, ...],
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = silent,
    read_all: ReadAll = read_here,
    step_marker: str | None = None,
) -> list[Part]:
    """The parts of all sources in their order, as `read_part` makes them; the first error ends the rest.

    InputError where a file cannot be used.
    """
    found: dict[int, Part] = {}
    progress(_READING, 0, len(sources))
    with closing(read_all(_tasks(sources, policies, limits, step_marker))) as outcomes:
        for place, outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
            found[place] = outcome
            progress(_READING, len(found), len(sources))
    return [found[place] for place in range(len(sources))]


def try_parts(
    sources: Sequence[Source],
    policies: tuple[str, ...],
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = silent,
) -> list[Part | InputError]:
    """As `read_parts`, with the reason in the place of each file that cannot be used."""
    found: dict[int, Part | InputError] = {}
    progress(_READING, 0, len(sources))
    for place, outcome in read_here(_tasks(sources, policies, limits)):
        if isinstance(outcome, Exception) and not isinstance(outcome, InputError):
            raise outcome
        found[place] = outcome
        progress(_READING, len(found), len(sources))
    return [found[place] for place in range(len(sources))]


def _tasks(
    sources: Sequence[Source], policies: tuple[str, ...], limits: Limits, step_marker: str | None = None
) -> list[Task]:
    return [Task(source, limits, policies, step_marker) for source in sources]
