"""What tables and paths are made from: a causal graph with its path, of a trace or after a change."""

from typing import Protocol

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.binding import Binding
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.meetings import Meetings
from tracegraph.ingest.causal.graph.replay import Replay
from tracegraph.ingest.causal.graph.segments import Segments
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.causal.steps.phases import Phases
from tracegraph.ingest.causal.steps.steps import Steps


class Solved(Protocol):
    """A causal graph, of a trace or after a change, and its critical path; `Solution` is one."""

    @property
    def events(self) -> Events: ...  # noqa: D102
    @property
    def lanes(self) -> Lanes: ...  # noqa: D102
    @property
    def stack(self) -> CallStack: ...  # noqa: D102
    @property
    def launches(self) -> Launches: ...  # noqa: D102
    @property
    def steps(self) -> Steps: ...  # noqa: D102
    @property
    def phases(self) -> Phases: ...  # noqa: D102
    @property
    def window(self) -> Window: ...  # noqa: D102
    @property
    def segments(self) -> Segments: ...  # noqa: D102
    @property
    def dependencies(self) -> Dependencies: ...  # noqa: D102
    @property
    def gap_name(self) -> Ints: ...  # noqa: D102
    @property
    def binding(self) -> Binding: ...  # noqa: D102
    @property
    def on_path(self) -> Flags: ...  # noqa: D102
    @property
    def sink(self) -> int: ...  # noqa: D102


class Storable(Solved, Protocol):
    """A graph that can be stored, with its replay and the facts that its run stores; `Model` is one."""

    @property
    def cross_thread(self) -> str: ...  # noqa: D102
    @property
    def meetings(self) -> Meetings | None: ...  # noqa: D102
    @property
    def replay(self) -> Replay: ...  # noqa: D102
    @property
    def slack(self) -> Ints: ...  # noqa: D102
