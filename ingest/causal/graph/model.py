"""The causal model of a run: from its events to segments, dependencies and the critical path."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.binding import Binding, bind, find_sink, walk
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.doubt import lower_behind_lost, lower_confidence
from tracegraph.ingest.causal.graph.gaps import name_gaps
from tracegraph.ingest.causal.graph.meetings import Meetings
from tracegraph.ingest.causal.graph.rendezvous import join_ranks, thread_waits
from tracegraph.ingest.causal.graph.replay import Replay
from tracegraph.ingest.causal.graph.segments import Segments, build_segments
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.causal.rules import EVIDENCE, POLICIES, SHARED, apply
from tracegraph.ingest.causal.rules.context import Context, Scene, find_context
from tracegraph.ingest.causal.rules.found import Found
from tracegraph.ingest.causal.steps.phases import Phases
from tracegraph.ingest.causal.steps.steps import Steps
from tracegraph.ingest.findings import Integrity


@dataclass(frozen=True)
class Solution:
    """A causal graph and its critical path; `gap_name`: the position in `GAP_NAMES` of each dependency."""

    scene: Scene
    segments: Segments
    dependencies: Dependencies
    gap_name: Ints
    binding: Binding
    on_path: Flags
    sink: int

    @property
    def events(self) -> Events:
        """All events, on the CPU's clock."""
        return self.scene.events

    @property
    def lanes(self) -> Lanes:
        """The lanes of the events."""
        return self.scene.lanes

    @property
    def stack(self) -> CallStack:
        """How the events of each thread are nested."""
        return self.scene.stack

    @property
    def launches(self) -> Launches:
        """Which call launched which work."""
        return self.scene.launches

    @property
    def steps(self) -> Steps:
        """The steps."""
        return self.scene.steps

    @property
    def phases(self) -> Phases:
        """The phases of the steps."""
        return self.scene.phases

    @property
    def window(self) -> Window:
        """The stretch of time that the path tiles."""
        return self.scene.window


def solve(scene: Scene, found: Found, meetings: Meetings | None = None) -> Solution:
    """Cut the lanes at the ports of the edges, choose what explains every start, and walk the path."""
    events, window = scene.events, scene.window
    waits = found.waits if meetings is None else join_rows([found.waits, thread_waits(meetings, events)])
    cuts = [np.concatenate(both) for both in zip(scene.steps.cuts, scene.phases.cuts, strict=True)]
    segments = build_segments(
        events, scene.stack, scene.lanes, window, found.edges, waits, (cuts[0], cuts[1])
    )
    segments, joints = (segments, None) if meetings is None else join_ranks(segments, events, meetings)
    dependencies, binding = bind(segments, found.edges, window, joints)
    dependencies = lower_confidence(scene.doubts, events, segments, dependencies)
    gap_name = name_gaps(events, scene.launches, scene.stack, segments, dependencies)
    dependencies = lower_behind_lost(events, segments, dependencies, gap_name)
    sink = find_sink(segments, window, scene.lanes)
    return Solution(
        scene=scene,
        segments=segments,
        dependencies=dependencies,
        gap_name=gap_name,
        binding=binding,
        on_path=walk(segments, dependencies, binding, sink),
        sink=sink,
    )


@dataclass(frozen=True)
class Model(Solution):
    """The graph of a run under one policy between threads, with its replay."""

    cross_thread: str
    found: Found
    """What the graph was made from, apart from the meetings of ranks."""
    under: Callable[[str], Found]
    """Gives the same under another policy."""
    meetings: Meetings | None
    replay: Replay
    slack: Ints


def make_model(
    scene: Scene, found: Callable[[str], Found], cross_thread: str, meetings: Meetings | None = None
) -> Model:
    """Solve a graph and prepare its replay; `found` gives what the rules find under a policy.

    `cross_thread` is one of `rules.POLICIES`.
    """
    mine = found(cross_thread)
    solution = solve(scene, mine, meetings)
    replay = Replay(solution.segments, solution.dependencies, solution.window, solution.sink)
    return Model(
        **{field.name: getattr(solution, field.name) for field in fields(Solution)},
        cross_thread=cross_thread,
        found=mine,
        under=found,
        meetings=meetings,
        replay=replay,
        slack=replay.slack(),
    )


@dataclass(frozen=True)
class RankModel(Model):
    """The graph of one file; `context`: what its rules looked at."""

    context: Context

    @property
    def clock_offset_ns(self) -> int:
        """What was added to the GPU rows at the window's start."""
        return self.context.clock.offset_ns

    @property
    def clock_drift_ppb(self) -> int:
        """How many ns more were added each second."""
        return self.context.clock.drift_ppb


def build_model(
    events: Events,
    lanes: Lanes,
    integrity: Integrity,
    cross_thread: str = EVIDENCE,
    step_marker: str | None = None,
) -> RankModel:
    """Apply the rules of the causal model to the events of a file.

    Parameters
    ----------
    integrity
        Gets the findings on the way.
    cross_thread
        One of `rules.POLICIES`.
    step_marker
        The marker by which the events were read.
    """
    context = find_context(events, lanes, integrity, step_marker)
    shared = apply(SHARED, context, Found())
    model = make_model(context, lambda policy: apply(POLICIES[policy], context, shared), cross_thread)
    return RankModel(**{field.name: getattr(model, field.name) for field in fields(Model)}, context=context)
