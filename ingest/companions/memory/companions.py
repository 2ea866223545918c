"""Recordings of memory as companions of a trace: what they add to the graph of a run."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from tracegraph.ingest.companions.companion import CompanionFile, Row, Told
from tracegraph.ingest.companions.memory.recording import Recording, recordings_of
from tracegraph.ingest.companions.memory.run_rows import alignment_rows
from tracegraph.ingest.companions.memory.snapshot_file import has_snapshot_words, is_snapshot
from tracegraph.ingest.companions.memory.timeline_file import is_timeline
from tracegraph.vocabulary.memory import SNAPSHOT, TIMELINE


class _Snapshots:
    """Snapshots of the CUDA allocator: one for each process of a job."""

    name = f"memory {SNAPSHOT}"

    def sniff(self, file: CompanionFile) -> bool:
        """Look for a pickle that speaks of segments."""
        data = memoryview(file.data)
        return is_snapshot(data) and has_snapshot_words(data)

    def read(self, files: Sequence[CompanionFile]) -> Told:
        """Read the snapshots; InputError for a hostile one."""
        return _told(files)


class _Timelines:
    """Memory timelines of PyTorch's profiler: one for each process of a job."""

    name = f"memory {TIMELINE}"

    def sniff(self, file: CompanionFile) -> bool:
        """Look for a list of lists."""
        return is_timeline(memoryview(file.data))

    def read(self, files: Sequence[CompanionFile]) -> Told:
        """Read the timelines; InputError for a damaged one."""
        return _told(files)


def _told(files: Sequence[CompanionFile]) -> Told:
    found = [one for file in files for one in recordings_of(file.path, file.sha256, memoryview(file.data))]
    rows = {
        "MemoryClass": _rows(found, [one.classes().assign(at_ns=one.peak.at_ns) for one in found]),
        "MemoryLevel": _rows(found, [one.over_time for one in found]),
        "MemorySource": _rows(found, [one.sources() for one in found]),
        "MemoryPool": _rows(found, [one.pools for one in found]),
        "MemorySegmentPart": _rows(found, [one.segments for one in found]),
        "MemoryFailure": _rows(found, [one.failed for one in found]),
    }
    words: Mapping[str, object] = {
        "recordings": len(found),
        "bytes at the peak": max(one.peak.bytes for one in found),
        "allocations that failed": len(rows["MemoryFailure"]),
    }
    return Told(rows, words, lambda read: {"MemoryAlignment": alignment_rows(found, read)})


def _rows(recordings: Iterable[Recording], frames: Iterable[pd.DataFrame]) -> list[Row]:
    rows: list[Row] = []
    for recording, frame in zip(recordings, frames, strict=True):
        own = frame.assign(recording=recording.path, device=recording.device).astype(object)
        whole = own.where(own.notna(), None)
        rows += [{str(name): value for name, value in row.items()} for row in whole.to_dict("records")]
    return rows


SNAPSHOTS = _Snapshots()
TIMELINES = _Timelines()
