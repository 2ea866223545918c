"""Damages of recordings besides those of the oracle's vary.py: wrong times, lost rows, unnamed waits.

Positions in the file stay, and so does the truth: a lost row becomes an instant in its place.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tracegraph.vocabulary.categories import GPU_WORK, Role, has_role

Entry = dict[str, Any]
_Damage = Callable[[list[Entry], random.Random], None]
_OVERFLOW_US, _MORE_US = 60_000, 1_600_000
"""By how much kernels last longer in a file with wrong durations, and by how much every fifth does."""
UNNAMED_WAITS = "unnamed_waits"
"""The damage in which waiting calls have names of their own, and no row says what they wait for."""
_RENAMED = {
    "cudaStreamSynchronize": "vrtQueueDrain",
    "cudaDeviceSynchronize": "vrtFinishAll",
    "cudaEventSynchronize": "vrtFenceReached",
}


def _overflow(share: float) -> _Damage:
    """Make the damage that adds 60 ms to a share of the kernels, and 1.6 s to every fifth of these."""

    def damage(entries: list[Entry], rnd: random.Random) -> None:
        kernels = [entry for entry in entries if has_role(entry.get("cat", ""), Role.KERNEL)]
        for number, entry in enumerate(rnd.sample(kernels, max(1, round(share * len(kernels))))):
            entry["dur"] += _OVERFLOW_US if number % 5 else _MORE_US

    return damage


def _lost(begin: float, until: float, streams: Sequence[int] = ()) -> _Damage:
    """Make the damage that loses the GPU rows from one share of them to another, by their start.

    `streams` limits it to some streams.
    """

    def damage(entries: list[Entry], rnd: random.Random) -> None:
        rows = [entry for entry in entries if has_role(entry.get("cat", ""), *GPU_WORK)]
        rows = [row for row in rows if not streams or row["args"]["stream"] in streams]
        rows.sort(key=lambda row: row["ts"])
        for row in rows[round(begin * len(rows)) : round(until * len(rows))]:
            _lose(row)

    return damage


def _without_names(entries: list[Entry], _: random.Random) -> None:
    for entry in entries:
        if has_role(entry.get("cat"), Role.SYNC):
            _lose(entry)
        elif entry["name"] in _RENAMED:
            entry["name"] = _RENAMED[entry["name"]]


def _lose(row: Entry) -> None:
    """Turn a row into an instant: its place stays, so that the truth's positions do."""
    row.update(ph="i", s="t", cat="lost")


OWN: Mapping[str, _Damage] = {
    "overflow1": _overflow(0.01),
    "overflow20": _overflow(0.2),
    "head_lost10": _lost(0, 0.1),
    "head_lost60": _lost(0, 0.6),
    "middle_lost5": _lost(0.5, 0.55),
    "tail_lost20": _lost(0.8, 1),
    "one_stream_lost30": _lost(0, 0.3, (7,)),
    UNNAMED_WAITS: _without_names,
}
"""The damages by name."""


def damage_files(name: str, source: Path, target: Path, seed: int) -> None:
    """Damage a simulation whose two files begin with `source`; the new files begin with `target`."""
    trace, truth = (source.with_name(f"{source.name}_{part}.json") for part in ("rank0", "truth"))
    document = json.loads(trace.read_bytes())
    OWN[name](document["traceEvents"], random.Random(seed * 31 + len(name)))
    target.with_name(f"{target.name}_rank0.json").write_text(json.dumps(document))
    target.with_name(f"{target.name}_truth.json").write_bytes(truth.read_bytes())
