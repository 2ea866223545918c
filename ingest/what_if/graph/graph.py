"""The part of a causal graph that a replay needs, from the model of a run or from its stored tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tracegraph.base.errors import TracegraphError
from tracegraph.ingest.arrays import Flags, Ints, Terms
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.longest_path import Replay
from tracegraph.ingest.causal.graph.runs import Links, Sides, chosen_links, find_sides
from tracegraph.ingest.causal.graph.segments import WORK, Segments
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.causal.graph.stack_frames import Frames, find_frames
from tracegraph.ingest.causal.steps.phases import Phases
from tracegraph.ingest.text_columns import TextColumn, with_role
from tracegraph.ingest.what_if.graph.facts import WorkFacts
from tracegraph.ingest.what_if.graph.hand_overs import HandedOver, find_handed_over
from tracegraph.ingest.what_if.graph.launch_stretches import launching_segments
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.step_names import STEP_PREFIX


@dataclass(frozen=True)
class Calls:
    """The events of a run in the order of the file, one array for each attribute; times in ns.

    `parent`: index of the innermost event of its thread that contains it, -1 for none. `step`: number of the
    step to which it belongs, `NONE` outside of all. `call`: index of the call that launched it, -1 for none.
    """

    source_index: Ints
    name: TextColumn
    category: TextColumn
    lane: Ints
    start: Ints
    end: Ints
    parent: Ints
    step: Ints
    call: Ints

    def __len__(self) -> int:
        return len(self.start)

    def of_role(self, *roles: Role) -> Flags:
        """Flag the events whose category has one of `roles`; many ask for the same."""
        if roles not in self._of_roles:
            self._of_roles[roles] = with_role(self.category, *roles)
            self._of_roles[roles].setflags(write=False)
        return self._of_roles[roles]

    @cached_property
    def _of_roles(self) -> dict[tuple[Role, ...], Flags]:
        return {}


@dataclass(frozen=True)
class StepWindow:
    """A step: its annotation, and the window that also holds the GPU work launched in it; ns.

    `name`: of the annotation; `marker`: the name under which all steps of the run are counted.
    """

    number: int
    rank: int
    start: int
    end: int
    window_end: int
    name: str
    marker: str


@dataclass(frozen=True)
class ReplayGraph:
    """Segments and dependencies of a run, and what chooses among them.

    Attributes
    ----------
    gap_name
        For each dependency a position in `GAP_NAMES`, which means something if there is a gap.
    rendezvous
        For each event in an operation of several ranks when the last of these came, ns; else `NONE`.
    fixed
        Starts that nothing in the graph explains, by segment, ns.
    facts
        Returns what files state of GPU work; None if nothing needs it.
    """

    calls: Calls
    lanes: Lanes
    segments: Segments
    dependencies: Dependencies
    gap_name: Terms
    frames: Frames
    steps: tuple[StepWindow, ...]
    window: Window
    sink: int
    rendezvous: Ints
    phases: Phases
    fixed: Mapping[int, int] = field(default_factory=dict)
    facts: Callable[[], WorkFacts] | None = None

    @property
    def step_marker(self) -> str:
        """The name that the frames of all steps have."""
        return self.steps[0].marker if self.steps else STEP_PREFIX

    @cached_property
    def replay(self) -> Replay:
        """The replay of the graph, after a check that it reproduces every start.

        Raises
        ------
        TracegraphError
            If it does not, since then nothing that it says of changes could be trusted.
        """
        lag = never_early(self.dependencies.lag)
        replay = self.replay_with(chosen_links(self.dependencies, lag, self.sides))
        again = replay.run(self.segments.work, np.ones(len(self.segments), dtype=bool)).start
        wrong = np.flatnonzero(again != self.segments.start)
        if len(wrong):
            raise TracegraphError(
                f"the replay of the unchanged run has {len(wrong)} of {len(again)} segments at other times",
                "this is a fault of tracegraph, please report it with the trace",
            )
        return replay

    def replay_with(self, links: Links) -> Replay:
        """Make the replay of its segments with other dependencies."""
        return Replay(self.segments, links, self.window, self.sink, self.fixed)

    @cached_property
    def sides(self) -> Sides:
        """Which of its dependencies make runs, and which hold up others."""
        return find_sides(self.segments, self.dependencies)

    @cached_property
    def launching(self) -> Ints:
        """The segment of a thread that launched each segment of GPU work, -1 for none and for threads."""
        return launching_segments(self)

    @cached_property
    def handed_over(self) -> HandedOver:
        """What its threads were handed by others."""
        return find_handed_over(self)

    @cached_property
    def counted(self) -> Flags:
        """Flags of the segments that may end the window: work on lanes that matter."""
        segments = self.segments
        is_work = segments.works & ((segments.kind != WORK) | (segments.event >= 0))
        counted: Flags = is_work & self.lanes.matters[segments.lane]
        return counted if counted.any() else is_work | (np.arange(len(segments)) == self.sink)


def never_early(lag: Ints) -> Ints:
    """Make lags as they hold after a change: no effect starts before its cause is complete.

    A cause that lost a close race counts as 1 ns too early, which is right at the recorded times only.
    """
    return np.maximum(lag, 0)


def graph_of(model: Solution) -> ReplayGraph:
    """Take from a model what a replay needs."""
    events, steps = model.events, model.steps
    names = events.name[steps.event]
    return ReplayGraph(
        calls=Calls(
            source_index=events.source_index,
            name=events.name,
            category=events.category,
            lane=events.lane,
            start=events.start,
            end=events.end,
            parent=model.stack.parent,
            step=steps.of_event,
            call=model.launches.call,
        ),
        lanes=model.lanes,
        segments=model.segments,
        dependencies=model.dependencies,
        gap_name=model.gap_name,
        frames=find_frames(model),
        steps=tuple(
            StepWindow(
                number=int(steps.number[at]),
                rank=int(steps.rank[at]),
                start=int(steps.start[at]),
                end=int(steps.end[at]),
                window_end=int(steps.window_end[at]),
                name=str(names[at]),
                marker=model.events.step_marker,
            )
            for at in range(len(names))
        ),
        window=model.window,
        sink=model.sink,
        rendezvous=_rendezvous(model),
        phases=model.phases,
    )


def _rendezvous(model: Solution) -> Ints:
    count, meetings = len(model.events), model.meetings
    if meetings is None:
        return np.broadcast_to(np.int64(NONE), count)
    found = np.full(count, NONE, dtype=np.int64)
    found[meetings.event] = meetings.rendezvous[meetings.member_of]
    return found
