"""What one file says of the memory of one device: when most is used, by what, and where it was allocated."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd
import pyarrow as pa

from tracegraph.base.errors import InputError
from tracegraph.ingest.companions.memory.class_rules import changes_of, classify, stretches
from tracegraph.ingest.companions.memory.failures import failures_of
from tracegraph.ingest.companions.memory.labels import labels_of, phase_at, step_of
from tracegraph.ingest.companions.memory.levels import Peak, levels, over_time, peak_of
from tracegraph.ingest.companions.memory.lives import Lives, lives_of
from tracegraph.ingest.companions.memory.pools import memory_pools
from tracegraph.ingest.companions.memory.segments import segment_parts
from tracegraph.ingest.companions.memory.snapshot_file import is_snapshot, read_snapshot
from tracegraph.ingest.companions.memory.stacks import ENGINE, UNKNOWN_STACK
from tracegraph.ingest.companions.memory.timeline_file import is_timeline, read_timeline
from tracegraph.ingest.companions.memory.trace_file import lives_in
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.readers.registry import format_of
from tracegraph.ingest.readers.source_file import open_source
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.memory import SNAPSHOT, TIMELINE, TRACE

_RECORDED, _INFERRED = EVIDENCE
_BY_PYTORCH = "PyTorch's own class"
_SOURCE = ("class", "file", "line", "function", "module")


@dataclass(frozen=True)
class Recording:
    """The memory of one device in one file.

    Attributes
    ----------
    path, sha256, kind
        The file, the SHA-256 of its bytes as stored, and `snapshot`, `timeline` or `trace`.
    device
        Index of the device; None of the CPU in a trace, and where the file does not say it, as timelines do
        not.
    running
        Bytes of each class after each change, as `levels` returns them.
    blocks, lives
        Of a snapshot or trace: its blocks with their classes, and where they come from.
    pools, segments, failed
        Of a snapshot: `memory_pools` and `segment_parts` of the device, and the allocations that failed.
    """

    path: str
    sha256: str
    kind: str
    device: int | None
    running: pd.DataFrame
    blocks: pd.DataFrame | None = None
    lives: Lives | None = None
    pools: pd.DataFrame = field(default_factory=pd.DataFrame)
    failed: pd.DataFrame = field(default_factory=pd.DataFrame)
    segments: pd.DataFrame = field(default_factory=pd.DataFrame)

    @cached_property
    def peak(self) -> Peak:
        """Where most memory is used."""
        return peak_of(self.running)

    @cached_property
    def over_time(self) -> pd.DataFrame:
        """Return at_ns, class, bytes: the level of each class over time."""
        return over_time(self.running)

    def classes(self) -> pd.DataFrame:
        """Return what fills the memory at the peak.

        The columns are class, bytes, share, blocks, evidence, told_by and confidence; `evidence` is
        `recorded` or `inferred`; `told_by` the rule in words; `blocks` is null of a timeline.
        """
        if self.blocks is None:
            level = self.running.loc[self.peak.place].drop("at_ns").astype("int64")
            rows = pd.DataFrame({"class": level.index, "bytes": level.to_numpy(), "blocks": None})
            rows = rows[rows["bytes"] > 0].assign(evidence=_RECORDED, told_by=_BY_PYTORCH, confidence=1.0)
        else:
            there = self._at_peak()
            sums = there.groupby(["class", "evidence"])["bytes"].agg(bytes="sum", blocks="count")
            sure = there.groupby(["class", "evidence"])["confidence"].min()
            rows = sums.assign(confidence=sure).reset_index().rename(columns={"evidence": "told_by"})
            rows = rows.assign(evidence=_INFERRED)
        rows = rows.assign(share=rows["bytes"] / max(self.peak.bytes, 1)).sort_values(
            ["bytes", "class"], ascending=[False, True], ignore_index=True
        )
        return rows[["class", "bytes", "share", "blocks", "evidence", "told_by", "confidence"]]

    def sources(self) -> pd.DataFrame:
        """Return where the memory of the peak was allocated.

        The columns are class, file, line, function, module, bytes, blocks and share. Empty for a timeline,
        which has no stacks. Null file: below autograd, or before the recording.
        """
        if self.blocks is None or self.lives is None:
            return pd.DataFrame(columns=[*_SOURCE, "bytes", "blocks", "share"])
        there, stacks = self._at_peak(), self.lives.stacks
        told = [
            UNKNOWN_STACK if pd.isna(one) else stacks.get(int(one), UNKNOWN_STACK) for one in there["stack"]
        ]
        places = pd.DataFrame([(one.file, one.line, one.function, one.module) for one in told])
        rows = there[["class", "bytes"]].reset_index(drop=True).join(places.set_axis(_SOURCE[1:], axis=1))
        rows["line"] = rows["line"].astype("Int64")
        sums = (
            rows.groupby(list(_SOURCE), dropna=False)["bytes"].agg(bytes="sum", blocks="count").reset_index()
        )
        sums = sums.assign(share=sums["bytes"] / max(self.peak.bytes, 1))
        return sums.sort_values(["bytes", *_SOURCE], ascending=[False, *[True] * 5], ignore_index=True)

    def phases(self) -> list[tuple[str, int, int]]:
        """Return name, start and end (ns since 1970) of the phases that the recording shows, in order."""
        if self.blocks is None or self.lives is None:
            return []
        at_ns, steps = self.lives.at_ns, self.lives.steps.dropna(subset="end_ns")
        backward = [
            ("backward", int(at_ns.iloc[begin]), int(at_ns.iloc[end]))
            for begin, end in stretches(self.blocks, ENGINE)
            if not at_ns.iloc[[begin, end]].isna().any()
        ]
        marked = [
            ("optimizer", int(start), int(end))
            for start, end in zip(steps["start_ns"], steps["end_ns"], strict=True)
        ]
        return sorted([*backward, *marked], key=lambda phase: phase[1])

    @cached_property
    def labels(self) -> pd.DataFrame:
        """Return the annotations of a trace and what was in use around and in each, as `labels_of` does."""
        return pd.DataFrame() if self.lives is None else labels_of(self.lives, self.running)

    @property
    def peak_step(self) -> str | None:
        """The name of the profiler's step in which the peak of a trace lies, None if unknown."""
        return None if self.lives is None else step_of(self.lives, self.peak)

    @property
    def peak_phase(self) -> str | None:
        """The phase in which the peak of a snapshot or trace lies, None if unknown."""
        if self.lives is None or self.blocks is None:
            return None
        return phase_at(self.lives, self.blocks, self.peak)

    def _at_peak(self) -> pd.DataFrame:
        assert self.blocks is not None
        place = self.peak.place
        return self.blocks[(self.blocks["begin"] <= place) & (self.blocks["end"] > place)]


def read_recordings(path: Path, limits: Limits = DEFAULT_LIMITS) -> list[Recording]:
    """Read a snapshot, a timeline or a trace with memory rows: a recording for each device it tells of.

    Raises
    ------
    InputError
        The file cannot be read, is none of them, is hostile, or tells of no memory.
    """
    integrity = Integrity(str(path), limits)
    source = open_source(path, integrity)
    content = source.peek()
    if is_snapshot(content) or is_timeline(content):
        return recordings_of(str(path), source.sha256, source.take())
    return recordings_in_trace(format_of(source).read(source, integrity))


def recordings_in_trace(trace: TraceFile) -> list[Recording]:
    """Return a recording for each device whose memory a trace states; InputError if it states none."""
    found = []
    for lives in lives_in(trace):
        blocks = classify(lives)
        running = levels(changes_of(blocks, lives))
        found.append(Recording(trace.path, trace.sha256, TRACE, lives.device, running, blocks, lives))
    return found


def recordings_of(path: str, sha256: str, data: memoryview) -> list[Recording]:
    """Do the same for a snapshot or timeline in memory, without gzip; `path` is what errors name."""
    if is_snapshot(data):
        found = recordings_in(path, sha256, read_snapshot(path, data))
    else:
        found = [Recording(path, sha256, TIMELINE, None, levels(read_timeline(path, data)))]
    if not found:
        raise InputError(
            f"{path} holds no memory of any device",
            "record while the device is used, with torch.cuda.memory._record_memory_history()",
        )
    return found


def recordings_in(path: str, sha256: str, snapshot: Mapping[str, pa.Table]) -> list[Recording]:
    """Return a recording for each device of which the tables of a snapshot tell anything."""
    pools, found = memory_pools(snapshot), []
    for lives in lives_of(snapshot):
        blocks = classify(lives)
        if blocks.empty:
            continue
        running = levels(changes_of(blocks, lives))
        own = pools[pools["device"] == lives.device].reset_index(drop=True)
        failed = failures_of(lives, running, snapshot)
        lasting = blocks.loc[blocks["end"] >= lives.entries, ["address", "class"]]
        parts = segment_parts(snapshot, lives.device, lasting)
        found.append(
            Recording(path, sha256, SNAPSHOT, lives.device, running, blocks, lives, own, failed, parts)
        )
    return found
