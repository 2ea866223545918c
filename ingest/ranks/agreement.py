"""Whether several files are the ranks of one job, and which rank each is."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.ranks.clocks import RankClock
from tracegraph.ingest.ranks.part import Part
from tracegraph.ingest.sources.rank_names import ranks_in_names
from tracegraph.ingest.trace import FileFacts

_MOST_RANKS = 1_000_000
"""A stated number beyond this is no job's."""


def agree(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with their ranks, by rank: as the file says, else as the names of files or folders do.

    Raises
    ------
    InputError
        A rank is not known, there twice, two files hold the same, or they are of jobs of other
        sizes.
    """
    _refuse_other_jobs(parts)
    placed = [_of_rank(part, rank) for part, rank in zip(parts, placed_ranks(parts), strict=True)]
    known: dict[int, Part] = {}
    contents: dict[tuple[str, str], Part] = {}
    for part in placed:
        same = contents.setdefault((part.file.sha256, part.file.part), part)
        if same is not part:
            raise InputError(f"{part.file.path} and {same.file.path} hold the same", "give each rank once")
        other = known.setdefault(part.rank, part)
        if other is not part:
            raise InputError(
                f"{part.file.path} and {other.file.path} are both rank {part.rank}",
                "give the files of one job, each rank once, or say which a file is with --rank-of FILE=N",
            )
    return [known[rank] for rank in sorted(known)]


def _refuse_other_jobs(parts: Sequence[Part]) -> None:
    """InputError where files state different numbers of ranks: those are two jobs."""
    stated = [part.file for part in parts if part.file.world_size is not None]
    for file in stated[1:]:
        if file.world_size != stated[0].world_size:
            raise InputError(
                f"{stated[0].path} is of a job of {stated[0].world_size} ranks, {file.path} of one of "
                f"{file.world_size}",
                "give the files of one job",
            )


def missing_ranks(files: Sequence[FileFacts]) -> list[int]:
    """Return the ranks of the job that no file holds, where a file states how many there are."""
    here = {file.rank for file in files}
    size = world_size(files)
    return [rank for rank in range(min(size or 0, _MOST_RANKS)) if rank not in here]


def world_size(files: Sequence[FileFacts]) -> int | None:
    """How many ranks the job has, where a file states it."""
    return next((file.world_size for file in files if file.world_size is not None), None)


def strangers(parts: Sequence[Part], clocks: Mapping[int, RankClock]) -> list[int]:
    """Ranks that share no operation with the first, and recorded at no time at which any other rank did.

    They may be of another job; clocks of two hosts need not agree, so it may be one all the same.
    """
    windows = {part.rank: part.scene.window for part in parts}
    return [
        rank
        for rank, own in windows.items()
        if clocks[rank].spread_ns is None
        and not any(own.start < of.end and of.start < own.end for at, of in windows.items() if at != rank)
    ]


def placed_ranks(parts: Sequence[Part]) -> list[int | None]:
    """Which rank each part is in a job: as its file says, else as the names do; None where neither does."""
    unstated = [part for part in parts if not part.rank_stated]
    named = iter(ranks_in_names([part.file.path for part in unstated]))
    return [part.rank if part.rank_stated else next(named) for part in parts]


def _of_rank(part: Part, rank: int | None) -> Part:
    if rank is None:
        name = shlex.quote(PurePath(part.file.path).name)
        raise InputError(
            f"{part.file.path} does not say which rank it is, and the names of the files do not tell it",
            f"say it for each file, as --rank-of {name}=0, or put it into the names, such as rank3.json.gz",
        )
    if rank == part.rank:
        return part
    lanes = part.scene.lanes
    events = replace(part.scene.events, rank=np.broadcast_to(np.int64(rank), len(part.scene.events)))
    steps = replace(part.scene.steps, rank=np.full_like(part.scene.steps.rank, rank))
    phases = replace(part.scene.phases, rank=np.full_like(part.scene.phases.rank, rank))
    lanes = replace(lanes, frame=lanes.frame.assign(rank=rank))
    scene = replace(part.scene, events=events, steps=steps, phases=phases, lanes=lanes)
    return replace(part, file=replace(part.file, rank=rank), scene=scene)
