"""All ranks of a job looked at, without the graph of the whole job: files read at once, then compared."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from tracegraph.base.errors import InputError
from tracegraph.base.progress import Progress, silent
from tracegraph.ingest.health.between_ranks import Waits, find_waits
from tracegraph.ingest.health.rank_health import HealthTask, RankHealth
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.ranks.agreement import agreed_ranks, missing_ranks, world_size
from tracegraph.ingest.ranks.reading import read_here
from tracegraph.ingest.sources.source import Source

_READING = "reading the files of all ranks"


@dataclass(frozen=True)
class JobHealth:
    """The ranks of a job by number, what they waited for each other, and how many ranks the job has.

    `waits`: None if there is only one rank here. `missing`: ranks of the job that no file holds.
    """

    ranks: Mapping[int, RankHealth]
    waits: Waits | None
    world_size: int | None
    missing: tuple[int, ...]


def look_at_job(sources: Sequence[Source], options: IngestOptions, progress: Progress = silent) -> JobHealth:
    """Read the files of one job, several at once where that pays, and compare its ranks.

    Raises
    ------
    InputError
        A file cannot be used, the files are not the ranks of one job, or the step marker of `options` names
        no annotation in any of them.
    """
    found = _read(sources, options, progress)
    if options.step_marker is not None and not any(one.steps for one in found):
        raise InputError(
            f"no annotation of any file is named as --step-marker {options.step_marker!r} says",
            "give one file alone to see which annotations repeat",
        )
    return compare(found)


def compare(found: Sequence[RankHealth]) -> JobHealth:
    """Compare ranks of one job that were looked at one by one; InputError if they are not of one job."""
    numbers = agreed_ranks(found) if len(found) > 1 else [one.rank for one in found]
    ranks = {
        number: replace(one, file=replace(one.file, rank=number))
        for number, one in sorted(zip(numbers, found, strict=True), key=lambda pair: pair[0])
    }
    files = [one.file for one in ranks.values()]
    waits = find_waits(ranks) if len(ranks) > 1 else None
    return JobHealth(ranks, waits, world_size(files), tuple(missing_ranks(files)))


def _read(sources: Sequence[Source], options: IngestOptions, progress: Progress) -> list[RankHealth]:
    found: dict[int, list[RankHealth]] = {}
    progress(_READING, 0, len(sources))
    with closing(
        read_here([HealthTask(source, options, len(sources) > 1) for source in sources])
    ) as outcomes:
        for place, outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
            found[place] = outcome
            progress(_READING, len(found), len(sources))
    return [rank for place in range(len(sources)) for rank in found[place]]
