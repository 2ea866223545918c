"""What a job measures of itself while it is recorded, to be put beside what its traces say."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STEP = "step"
"""What whole steps are noted as."""
Noted = tuple[str, int, int]
"""A name, and when what it stands for began and ended; on one machine all ranks have the same clock, ns."""
NOTED: list[Noted] = []


@contextmanager
def noted(name: str) -> Iterator[None]:
    """Note when a block began and ended."""
    start = time.perf_counter_ns()
    try:
        yield
    finally:
        NOTED.append((name, start, time.perf_counter_ns()))


def write_noted(folder: Path, rank: int) -> None:
    """Write what this rank noted; a folder of its own, since a folder of traces may be read as a whole."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"rank{rank}.json").write_text(json.dumps(NOTED), encoding="utf-8")


def read_noted(folder: Path, steps: int) -> list[list[list[Noted]]]:
    """Read what was noted inside the last steps: of each step, of each rank, in the order of its ends."""
    ranks = []
    for number in range(len(list(folder.glob("rank*.json")))):
        rows = [tuple(row) for row in json.loads((folder / f"rank{number}.json").read_text())]
        found: list[list[Noted]] = [[]]
        for row in rows:
            if row[0] == STEP:
                found.append([])
            else:
                found[-1].append(row)
        ranks.append(found[:-1][-steps:])
    return [list(step) for step in zip(*ranks, strict=True)]
