"""What the rules of the causal model look at: events, and how ids, order and nesting relate them."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.clock.alignment import align
from tracegraph.ingest.causal.clock.clock import GpuClock
from tracegraph.ingest.causal.clock.impossible_times import nest_possible, put_possible
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import Events, recording_start
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.events.window import Window, find_window
from tracegraph.ingest.causal.launches.awaited_work import HostWaits, SyncRows
from tracegraph.ingest.causal.launches.backward_passes import Passes, find_passes
from tracegraph.ingest.causal.launches.correlations import tell_calls_apart
from tracegraph.ingest.causal.launches.doubts import Doubts, find_doubts
from tracegraph.ingest.causal.launches.launches import Lags, Launches, Streams, done_before, measure_lags
from tracegraph.ingest.causal.launches.missing_work import MissingWork, find_missing
from tracegraph.ingest.causal.launches.usual_work import left_at, usual_work
from tracegraph.ingest.causal.steps.phases import Phases, find_phases
from tracegraph.ingest.causal.steps.steps import Steps, find_steps
from tracegraph.ingest.integrity_findings import Integrity


@dataclass(frozen=True)
class Orders:
    """Pairs of GPU work, by index: an effect follows its cause, or, where that is not `stated`, may do so."""

    cause: Ints
    effect: Ints
    stated: Flags

    def __len__(self) -> int:
        return len(self.cause)


def no_orders() -> Orders:
    """Make a table without rows."""
    return Orders(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=bool))


@dataclass(frozen=True)
class OffCpu:
    """Stretches in which a thread did not run, as the system recorded them; times in ns.

    `ready`: whether the thread could have run. Else it waited for something, or that is not recorded.
    """

    lane: Ints
    start: Ints
    end: Ints
    ready: Flags

    def __len__(self) -> int:
        return len(self.lane)


def never_off_cpu() -> OffCpu:
    """Make a table without rows."""
    no = np.empty(0, dtype=np.int64)
    return OffCpu(no, no, no, np.empty(0, dtype=bool))


@dataclass(frozen=True)
class Stated:
    """What a file says besides its events: the order of GPU work, and when threads did not run."""

    orders: Orders = field(default_factory=no_orders)
    off_cpu: OffCpu = field(default_factory=never_off_cpu)


@dataclass(frozen=True)
class Scene:
    """What a graph is made on, besides edges: of one rank, or of all ranks of a job.

    `events` are on the CPU's clock, those of several ranks on that of the first. `doubts` has one entry for
    each file.
    """

    events: Events
    lanes: Lanes
    stack: CallStack
    launches: Launches
    steps: Steps
    phases: Phases
    window: Window
    doubts: tuple[Doubts, ...]


@dataclass(frozen=True)
class Context(Scene):
    """All that a rule may look at; it is of one rank."""

    streams: Streams
    sync_rows: SyncRows
    host_waits: HostWaits
    lags: Lags
    passes: Passes
    clock: GpuClock
    """What was added to the GPU rows, counted from the window's start."""
    stated: Stated

    @cached_property
    def missing(self) -> MissingWork:
        """See `missing_work.find_missing`."""
        return find_missing(self.events, self.launches, self.stack)

    @cached_property
    def recording_start(self) -> int:
        """See `events.recording_start`."""
        return recording_start(self.events)

    @cached_property
    def done_before(self) -> Ints:
        """See `launches.done_before`."""
        return done_before(self.events, self.streams)

    @cached_property
    def usual_work(self) -> Ints:
        """See `usual_work.usual_work`."""
        return usual_work(self.events, self.launches, self.lags, self.done_before)

    @cached_property
    def left_at(self) -> Ints:
        """See `usual_work.left_at`."""
        return left_at(self.events, self.launches, self.lags, self.usual_work, self.done_before)


def find_context(events: Events, lanes: Lanes, integrity: Integrity, stated: Stated | None = None) -> Context:
    """Prepare the events of a rank for the rules; `stated` is what the file says besides.

    Impossible times are clipped, events nested, calls matched with their work, clocks put right, and steps
    and phases found. `integrity` gets the findings on the way.
    """
    process = lanes.process
    events = put_possible(tell_calls_apart(events, process), process, integrity)
    events, stack = nest_possible(events, integrity)
    gpu = align(events, find_window(events, lanes).start, integrity)
    window = find_window(gpu.events, lanes)
    steps = find_steps(gpu.events, gpu.launches)
    passes = find_passes(gpu.events, stack, process)
    return Context(
        events=gpu.events,
        lanes=lanes,
        stack=stack,
        launches=gpu.launches,
        streams=gpu.streams,
        sync_rows=gpu.sync_rows,
        host_waits=gpu.host_waits,
        lags=measure_lags(gpu.events, gpu.launches, gpu.streams, len(lanes.frame)),
        passes=passes,
        steps=steps,
        phases=find_phases(gpu.events, lanes, stack, gpu.launches, steps, passes),
        window=window,
        doubts=(find_doubts(gpu.events, lanes, gpu.launches),),
        clock=gpu.clock.at(window.start),
        stated=Stated() if stated is None else stated,
    )
