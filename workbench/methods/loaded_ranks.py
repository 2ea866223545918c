"""Takes ranks in full that a stored run has in short, from the files that it was made of."""

import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tracegraph.base.errors import InputError
from tracegraph.ingest.detail import FULL, PATH
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.readers.source_file import digest
from tracegraph.ingest.sources.source import Source
from tracegraph.vocabulary.kernel_types import Spelling

Manifest = Mapping[str, Any]


def sources_of(manifest: Manifest) -> list[Source]:
    """Return the files of a run, each with its rank, once it is known that they are what they were.

    Raises
    ------
    InputError
        A file is gone, cannot be read, or has changed.
    """
    found = []
    for row in manifest["sources"]:
        source = Source(str(row["path"]), rank=int(row["rank"]))
        if not source.is_remote:
            _refuse_changed(Path(source.given), str(row["sha256"]))
        found.append(source)
    return found


def options_of(manifest: Manifest, cross_thread: str, ranks: Iterable[int]) -> IngestOptions:
    """Say how a run was made, with more of its ranks in full.

    Raises
    ------
    InputError
        The run has no rank in short, lacks one of these ranks, or already has it in full.
    """
    name, held = str(manifest["run"]), sorted(int(row["rank"]) for row in manifest["sources"])
    full = manifest.get("in_full")
    if full is None:
        raise InputError(f"run {name!r} has all its ranks in full", "nothing is left to load")
    for rank in ranks:
        if rank not in held:
            raise InputError(f"run {name!r} has no rank {rank}", f"its ranks are {held[0]} to {held[-1]}")
        if rank in full:
            raise InputError(
                f"rank {rank} of run {name!r} is in full",
                f"ask about it: tracegraph query lanes --run {shlex.quote(name)}",
            )
    every = sorted({*full, *ranks})
    return IngestOptions(
        cross_thread=cross_thread,
        step_marker=manifest.get("step_marker"),
        spellings=[Spelling(**one) for one in manifest.get("kernel_types", [])],
        companions=[str(row["path"]) for row in manifest.get("companions", [])],
        job=manifest.get("job"),
        detail=FULL if every == held else PATH,
        in_full=() if every == held else every,
    )


def _refuse_changed(path: Path, sha256: str) -> None:
    again = "put it back where it was, or ingest the files anew"
    if not os.path.isfile(path):
        raise InputError(f"{path}, of which the run was made, is gone", again)
    if digest(path) != sha256:
        raise InputError(f"{path} is not what it was when the run was made of it", again)
