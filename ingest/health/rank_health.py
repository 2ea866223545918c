"""One rank of a job, read by itself: how its window went, in sums that need no other rank."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.model import RankModel
from tracegraph.ingest.health.gpu_idle import IdleTime, find_idle_time
from tracegraph.ingest.integrity_findings import Finding, Integrity
from tracegraph.ingest.intervals import Spans, covered, ungrouped, union_length, without_overlaps
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.ranks.members import Member, find_members
from tracegraph.ingest.ranks.rank_part import build_checked
from tracegraph.ingest.sources.reading import read_ranks
from tracegraph.ingest.sources.source import Source
from tracegraph.ingest.tables.gpu_work import with_kernel_types
from tracegraph.ingest.text_columns import read_texts
from tracegraph.ingest.trace import FileFacts, TraceFile, file_facts
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION, Spelling

_HOST = -1
"""The index that rows about the memory of the host have for a device."""


@dataclass(frozen=True)
class MemoryPeak:
    """Most that was allocated on a device at once, bytes; see `find_memory`.

    `capacity`: memory of the device, None if the file does not state it. `is_total`: false if what was
    allocated before the recording is not in it.
    """

    device: int
    allocated: int
    capacity: int | None
    is_total: bool


@dataclass(frozen=True)
class RankHealth:
    """The sums of one rank, ns, on its own clock.

    Attributes
    ----------
    window
        From the begin of its first step to the end of the last step's work; without steps, of the recording.
    step_ns
        What each step but the first adds to the steps before it, in the order of time.
    steps
        How many steps the file has.
    has_gpu_work
        Whether a GPU worked in the window.
    idle
        Why the GPUs ran nothing; None without GPU work.
    communication_ns, exposed_ns
        Time in which communication ran on GPUs, and how much of that nothing was computed meanwhile.
    computing
        Stretches in which GPUs compute, in order and without overlaps.
    members
        The operations of the window in which it may meet other ranks.
    """

    file: FileFacts
    rank_stated: bool
    window: Window
    steps: int
    step_ns: Ints
    idle: IdleTime | None
    communication_ns: int
    exposed_ns: int
    computing: Spans
    members: list[Member]
    memory: tuple[MemoryPeak, ...]
    findings: tuple[Finding, ...]

    @property
    def rank(self) -> int:
        """Its rank, 0 where the file does not state it."""
        return self.file.rank

    @property
    def length_ns(self) -> int:
        """The length of its window, at least 1 ns."""
        return max(1, self.window.end - self.window.start)


@dataclass(frozen=True)
class HealthTask:
    """A file whose ranks are to be looked at; it goes to another process as any `worker.AnyTask` does."""

    source: Source
    options: IngestOptions
    of_job: bool

    def outcome(self) -> "list[RankHealth] | Exception":
        """Read the ranks of the file, and return them or the exception that was raised."""
        try:
            return read_health(self.source, self.options, of_job=self.of_job)
        except Exception as error:  # it is raised where the task came from
            return error


def read_health(source: Source, options: IngestOptions, *, of_job: bool = False) -> list[RankHealth]:
    """Read a file and look at each rank that it holds; `of_job`: other files of its job are read, too.

    Raises
    ------
    InputError
        The file cannot be used, or it is the only one and the step marker of `options` names no annotation.
    """
    ranks = read_ranks(source, Integrity(source.name, options.limits))
    alone = len(ranks) == 1 and not of_job
    return [look_at(trace, integrity, options, of_job=not alone) for trace, integrity in ranks]


def look_at(
    trace: TraceFile, integrity: Integrity, options: IngestOptions, *, of_job: bool = False
) -> RankHealth:
    """Build the causal model of a rank, for its launches, waits and findings, and sum up its window."""
    model = build_checked(trace, integrity, options, of_job=of_job, replayed=False)
    window = find_step_window(model)
    communicating, computing = _by_type(trace, model, window, options.spellings)
    exposed = communicating.end - communicating.start - covered(communicating, computing)
    has_work = bool((model.events.is_gpu & in_window(model, window)).any())
    return RankHealth(
        file=file_facts(trace, model.clock_offset_ns, model.clock_drift_ppb),
        rank_stated=trace.rank_stated,
        window=window,
        steps=len(model.scene.steps.number),
        step_ns=added_by_steps(model),
        idle=find_idle_time(model, window) if has_work else None,
        communication_ns=union_length(communicating.start, communicating.end),
        exposed_ns=int(exposed.sum()),
        computing=computing,
        members=[
            one
            for one in find_members(model, trace.events)
            if window.start <= one.start and one.end <= window.end
        ],
        memory=find_memory(trace),
        findings=tuple(integrity),
    )


def find_step_window(model: RankModel) -> Window:
    """Find the stretch that the steps take, with the work that they launch; else that of the recording."""
    steps = model.scene.steps
    if not len(steps.number):
        return model.window
    return Window(int(steps.start.min()), int(steps.window_end.max()))


def added_by_steps(model: RankModel) -> Ints:
    """Calculate what each step but the first adds to those before it, ns, their GPU work included.

    Where the host runs ahead of the GPU, the marks of the host say little. The first step has none before it,
    whose work may still run in it, and the start of the recording may lie in it.
    """
    steps = model.scene.steps
    order = np.argsort(steps.start, kind="stable")
    start, end = steps.start[order], np.maximum.accumulate(steps.window_end[order])
    added: Ints = end[1:] - np.maximum(start[1:], end[:-1])
    return added


def in_window(model: RankModel, window: Window) -> Flags:
    """Tell which events lie in the window, even in part."""
    found: Flags = (model.events.end > window.start) & (model.events.start < window.end)
    return found


def _by_type(
    trace: TraceFile, model: RankModel, window: Window, own: Iterable[Spelling]
) -> tuple[Spans, Spans]:
    """Return when communication runs in the window, and when computation does, each without overlaps."""
    events = model.events
    types = read_texts(with_kernel_types(trace.events.select(["name", "category"]), own)["kernel_type"])
    chosen = events.is_gpu & in_window(model, window)

    def spans(wanted: str) -> Spans:
        rows = np.flatnonzero(chosen & types.among(wanted))
        start, end = (times[rows].clip(window.start, window.end) for times in (events.start, events.end))
        return ungrouped(*without_overlaps(start, end))

    return spans(COMMUNICATION), spans(COMPUTATION)


def find_memory(trace: TraceFile) -> tuple[MemoryPeak, ...]:
    """Find the most that was allocated on each GPU: by the totals of the memory rows, else by their sizes.

    What is counted by sizes begins at 0, so that what was allocated before the recording is missing.
    """
    rows, found = trace.memory, []
    for device in sorted(set(rows["device"].to_pylist()) - {_HOST}):
        own = rows.filter(pc.equal(rows["device"], device))
        is_total = own["allocated"].null_count == 0
        levels = own["allocated"].to_numpy() if is_total else np.cumsum(own["bytes"].to_numpy())
        found.append(MemoryPeak(device, int(levels.max()), _capacity(trace.device_memory, device), is_total))
    return tuple(found)


def _capacity(known: Sequence[int | None], device: int) -> int | None:
    return known[device] if device < len(known) else None
