"""The causal model of a run: from its events to segments, dependencies and the critical path."""

from dataclasses import dataclass, fields

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.binding import Binding, bind, find_sink, walk
from tracegraph.ingest.causal.callstack import CallStack
from tracegraph.ingest.causal.context import Context, find_context
from tracegraph.ingest.causal.dependencies import Dependencies
from tracegraph.ingest.causal.doubt import lower_confidence
from tracegraph.ingest.causal.events import Events
from tracegraph.ingest.causal.found import Found
from tracegraph.ingest.causal.gaps import name_gaps
from tracegraph.ingest.causal.lanes import Lanes
from tracegraph.ingest.causal.launches import Launches
from tracegraph.ingest.causal.replay import Replay
from tracegraph.ingest.causal.rules import EVIDENCE, POLICIES, SHARED, apply
from tracegraph.ingest.causal.segments import Segments, Window, build_segments
from tracegraph.ingest.causal.steps import Steps
from tracegraph.ingest.integrity.findings import Integrity


@dataclass(frozen=True)
class Solution:
    """A causal graph and its critical path; `gap_name`: of each dependency, position in `GAP_NAMES`."""

    context: Context
    segments: Segments
    dependencies: Dependencies
    gap_name: Ints
    binding: Binding
    on_path: Flags
    sink: int

    @property
    def events(self) -> Events:
        """All events, on the CPU's clock."""
        return self.context.events

    @property
    def lanes(self) -> Lanes:
        """The lanes of the events."""
        return self.context.lanes

    @property
    def stack(self) -> CallStack:
        """How the events of each thread are nested."""
        return self.context.stack

    @property
    def launches(self) -> Launches:
        """Which call launched which work."""
        return self.context.launches

    @property
    def steps(self) -> Steps:
        """The profiler's steps."""
        return self.context.steps

    @property
    def window(self) -> Window:
        """What the path tiles."""
        return self.context.window


@dataclass(frozen=True)
class Model(Solution):
    """The graph of a run under one policy between threads.

    `shared`: what the rules found that hold under every policy; `found`: what the graph was made from.
    """

    cross_thread: str
    shared: Found
    found: Found
    replay: Replay
    slack: Ints

    @property
    def clock_offset_ns(self) -> int:
        """What was added to the GPU rows at the window's start."""
        return self.context.clock.offset_ns

    @property
    def clock_drift_ppb(self) -> int:
        """How many ns more were added each second."""
        return self.context.clock.drift_ppb


def solve(context: Context, found: Found) -> Solution:
    """Cut the threads at the ports of the edges, choose what explains every start, and walk the path."""
    events, window = context.events, context.window
    segments = build_segments(
        events, context.stack, context.lanes, window, found.edges, found.waits, context.steps.cuts
    )
    dependencies, binding = bind(segments, found.edges, window)
    dependencies = lower_confidence(context.doubts, events, segments, dependencies)
    sink = find_sink(segments, window, context.lanes)
    return Solution(
        context=context,
        segments=segments,
        dependencies=dependencies,
        gap_name=name_gaps(events, context.launches, segments, dependencies),
        binding=binding,
        on_path=walk(segments, dependencies, binding, sink),
        sink=sink,
    )


def build_model(events: Events, lanes: Lanes, integrity: Integrity, cross_thread: str = EVIDENCE) -> Model:
    """Apply the rules of the causal model; `cross_thread` is one of `rules.POLICIES`."""
    context = find_context(events, lanes, integrity)
    shared = apply(SHARED, context, Found())
    found = apply(POLICIES[cross_thread], context, shared)
    solution = solve(context, found)
    replay = Replay(solution.segments, solution.dependencies, solution.window, solution.sink)
    return Model(
        **{field.name: getattr(solution, field.name) for field in fields(Solution)},
        cross_thread=cross_thread,
        shared=shared,
        found=found,
        replay=replay,
        slack=replay.slack(),
    )
