"""Whether several files are the ranks of one job, and which rank each is."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Protocol

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.ranks.clocks import RankClock
from tracegraph.ingest.ranks.rank_part import Part
from tracegraph.ingest.sources.rank_names import ranks_in_names
from tracegraph.ingest.trace import FileFacts

_MOST_RANKS = 1_000_000
"""A stated number of ranks beyond this is not that of a job."""


def agree(parts: Sequence[Part]) -> list[Part]:
    """Return the parts by rank: the one that the file states, else the one in the name of file or folder.

    Raises
    ------
    InputError
        If a rank is not known or there twice, if two files hold the same, or if they are of jobs of different
        sizes.
    """
    ranks = agreed_ranks(parts)
    known = {rank: _of_rank(part, rank) for part, rank in zip(parts, ranks, strict=True)}
    return [known[rank] for rank in sorted(known)]


class Placed(Protocol):
    """What says which rank of which job something is."""

    @property
    def file(self) -> FileFacts:
        """The facts of its file."""

    @property
    def rank_stated(self) -> bool:
        """Whether the file, or the user, says its rank."""


def agreed_ranks(parts: Sequence[Placed]) -> list[int]:
    """Return the rank of each part: the one that the file states, else the one in the name of file or folder.

    Raises
    ------
    InputError
        If a rank is not known or there twice, if two files hold the same, or if they are of jobs of different
        sizes.
    """
    _refuse_other_jobs(parts)
    ranks: dict[int, FileFacts] = {}
    contents: dict[tuple[str, str], FileFacts] = {}
    for part, rank in zip(parts, placed_ranks(parts), strict=True):
        file = part.file
        if rank is None:
            name = shlex.quote(PurePath(file.path).name + (f"#{file.part}" if file.part else ""))
            raise InputError(
                f"{file.path} does not say which rank it is, and the names of the files do not tell it",
                f"say it for each, as --rank-of {name}=0"
                + ("" if file.part else ", or put it into the names, such as rank3.json.gz"),
            )
        same = contents.setdefault((file.sha256, file.part), file)
        if same is not file:
            raise InputError(f"{file.path} and {same.path} hold the same", "give each rank once")
        other = ranks.setdefault(rank, file)
        if other is not file:
            raise InputError(
                f"{file.path} and {other.path} are both rank {rank}",
                "give the files of one job, each rank once, or say which a file is with --rank-of FILE=N",
            )
    return list(ranks)


def _refuse_other_jobs(parts: Sequence[Placed]) -> None:
    """Raise InputError if files state different numbers of ranks: they are of two jobs."""
    stated = [part.file for part in parts if part.file.world_size is not None]
    for file in stated[1:]:
        if file.world_size != stated[0].world_size:
            raise InputError(
                f"{stated[0].path} is of a job of {stated[0].world_size} ranks, {file.path} of one of "
                f"{file.world_size}",
                "give the files of one job",
            )


def missing_ranks(files: Sequence[FileFacts]) -> list[int]:
    """List the ranks of the job that no file holds; none if no file states how many there are."""
    here = {file.rank for file in files}
    size = world_size(files)
    return [rank for rank in range(min(size or 0, _MOST_RANKS)) if rank not in here]


def world_size(files: Sequence[FileFacts]) -> int | None:
    """Find how many ranks the job has, None if no file states it."""
    return next((file.world_size for file in files if file.world_size is not None), None)


def strangers(parts: Sequence[Part], clocks: Mapping[int, RankClock]) -> list[int]:
    """Find ranks that share no operation with the first and were recorded while no other rank was.

    They may be of another job; but the clocks of two hosts need not agree, so that they may be of the same.
    """
    windows = {part.rank: part.scene.window for part in parts}
    return [
        rank
        for rank, own in windows.items()
        if clocks[rank].spread_ns is None
        and not any(own.start < of.end and of.start < own.end for at, of in windows.items() if at != rank)
    ]


def placed_ranks(parts: Sequence[Placed]) -> list[int | None]:
    """Find the rank of each part in a job: from its file, else from the names, else None."""
    unstated = [part for part in parts if not part.rank_stated]
    named = iter(ranks_in_names([part.file.path for part in unstated]))
    return [part.file.rank if part.rank_stated else next(named) for part in parts]


def _of_rank(part: Part, rank: int) -> Part:
    if rank == part.rank:
        return part
    lanes = part.scene.lanes
    events = replace(part.scene.events, rank=np.broadcast_to(np.int64(rank), len(part.scene.events)))
    steps = replace(part.scene.steps, rank=np.full_like(part.scene.steps.rank, rank))
    phases = replace(part.scene.phases, rank=np.full_like(part.scene.phases.rank, rank))
    lanes = replace(lanes, frame=lanes.frame.assign(rank=rank))
    scene = replace(part.scene, events=events, steps=steps, phases=phases, lanes=lanes)
    return replace(part, file=replace(part.file, rank=rank), scene=scene)
