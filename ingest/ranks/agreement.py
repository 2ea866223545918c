"""Whether several files are the ranks of one job, and which rank each is."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tracegraph.ingest.ranks.part import Part
from tracegraph.store.errors import InputError

_IN_NAME = re.compile(r"rank[ _.-]?(\d{1,6})(?!\d)", re.ASCII | re.IGNORECASE)


def agree(parts: Sequence[Part]) -> list[Part]:
    """The parts with their ranks, by rank: as the file says, else as its name or its folder's does.

    Raises:
        InputError: a rank is not known, there twice, or two files hold the same.
    """
    placed = [part if part.rank_stated else _as_named(part) for part in parts]
    known: dict[int, Part] = {}
    contents: dict[str, Part] = {}
    for part in placed:
        same = contents.setdefault(part.file.sha256, part)
        if same is not part:
            raise InputError(f"{part.file.path} and {same.file.path} hold the same", "give each rank once")
        other = known.setdefault(part.rank, part)
        if other is not part:
            raise InputError(
                f"{part.file.path} and {other.file.path} are both rank {part.rank}",
                "give the files of one job, each rank once",
            )
    return [known[rank] for rank in sorted(known)]


def rank_in_name(path: Path) -> int | None:
    """The rank that a file's name tells, else its folder's: `rank3.json.gz`, `logs/rank_3/trace.json`."""
    found = _IN_NAME.findall(path.name) or _IN_NAME.findall(path.parent.name)
    return int(found[-1]) if found else None


def _as_named(part: Part) -> Part:
    rank = rank_in_name(Path(part.file.path))
    if rank is None:
        raise InputError(
            f"{part.file.path} does not say which rank it is",
            "put it into its name, such as rank3.json.gz",
        )
    lanes = part.scene.lanes
    events = replace(part.scene.events, rank=np.broadcast_to(np.int64(rank), len(part.scene.events)))
    steps = replace(part.scene.steps, rank=np.full_like(part.scene.steps.rank, rank))
    scene = replace(
        part.scene, events=events, steps=steps, lanes=replace(lanes, frame=lanes.frame.assign(rank=rank))
    )
    return replace(part, file=replace(part.file, rank=rank), scene=scene)
