"""Where a recording of memory lies in the run that it is given with, by the run's own memory rows."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tracegraph.ingest.companions.companion import Reader, Row
from tracegraph.ingest.companions.memory.alignment import Alignment, Changes, align, changes_in
from tracegraph.ingest.companions.memory.recording import Recording
from tracegraph.vocabulary.memory import ALIGNED, DIFFERENT, NO_ROWS, SNAPSHOT

_CPU = "cpu"
_DEVICE = ("rank", "device_type", "device")


def alignment_rows(recordings: Sequence[Recording], read: Reader) -> list[Row]:
    """Return a row for each recording: whether its changes agree with the memory rows of a rank, and where.

    A run without lanes, of recordings alone, has nothing to align them with.
    """
    if not read("Lane", ["id"]).num_rows:
        return []
    devices = _devices(read)
    return [_row(one, devices) for one in recordings]


def _devices(read: Reader) -> list[tuple[int, str, Changes]]:
    """Return rank, kind of device and changes of each device of the run."""
    rows = (
        read("Allocation", ["at_ns", "bytes", *_DEVICE])
        .to_pandas(strings_to_categorical=False)
        .sort_values("at_ns", kind="stable")
    )
    found = []
    for key, own in rows.groupby(list(_DEVICE), dropna=False, observed=True):
        times, sizes = own["at_ns"].to_numpy(dtype=np.int64), own["bytes"].to_numpy(dtype=np.int64)
        rank, kind, _ = key
        found.append((0 if pd.isna(rank) else int(rank), str(kind), Changes(times, sizes)))
    return found


def _row(recording: Recording, devices: Sequence[tuple[int, str, Changes]]) -> Row:
    told = {"recording": recording.path, "device": recording.device}
    # Snapshots are of GPUs, and state what the program asked for; rows of traces state it rounded.
    fitting = [one for one in devices if recording.kind != SNAPSHOT or one[1] != _CPU]
    if not fitting:
        return {**told, "state": NO_ROWS}
    found: list[tuple[int, Alignment]] = []
    for rank, kind, changes in fitting:
        own = changes_in(recording.running)
        one = align(own, changes) if kind == _CPU else align(own.rounded(), changes.rounded())
        if one is not None:
            found.append((rank, one))
    if not found:
        return {**told, "state": DIFFERENT}
    rank, best = max(found, key=lambda one: one[1].matched)
    peak = recording.peak.at_ns
    return {
        **told,
        "state": ALIGNED,
        "rank": rank,
        "offset_ns": best.offset_ns,
        "matched": best.matched,
        "compared": best.compared,
        "peak_at_ns": None if peak is None else peak + best.offset_ns,
    }
