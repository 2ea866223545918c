"""A causal graph with its critical path: of a trace, of the ranks of a job, or after a change."""

from dataclasses import dataclass
from functools import cached_property

from tracegraph.ingest.arrays import Flags, Ints, Terms
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.binding import Binding
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.longest_path import Replay
from tracegraph.ingest.causal.graph.meetings import Meetings
from tracegraph.ingest.causal.graph.runs import find_links
from tracegraph.ingest.causal.graph.segments import Segments
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.causal.rules.context import Scene
from tracegraph.ingest.causal.steps.phases import Phases
from tracegraph.ingest.causal.steps.steps import Steps


@dataclass(frozen=True)
class Solution:
    """A causal graph and its critical path: what tables, paths and replays are made from.

    `gap_name`: of each dependency, position in `GAP_NAMES`. `cross_thread`: the policy between threads, one
    of `rules.POLICIES`. `meetings`: the operations of several ranks, None for one file.
    """

    scene: Scene
    segments: Segments
    dependencies: Dependencies
    gap_name: Terms
    binding: Binding
    on_path: Flags
    sink: int
    cross_thread: str
    meetings: Meetings | None

    @property
    def replay(self) -> Replay:
        """The replay of the graph; made anew each time, since it holds as much memory as the graph."""
        links = find_links(self.segments, self.dependencies)
        return Replay(self.segments, links, self.window, self.sink)

    @cached_property
    def slack(self) -> Ints:
        """By how much each segment may end later before the window ends later, ns."""
        return self.replay.slack()

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
        """What the path tiles."""
        return self.scene.window
