"""A causal graph that was edited: other work, other lags, dependencies removed or added."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Ints, Terms
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.binding import find_sink, walk
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.longest_path import Outcome, Replay
from tracegraph.ingest.causal.graph.runs import find_links
from tracegraph.ingest.causal.rules.edges import GAP_OF_MECHANISM
from tracegraph.ingest.what_if.changes.change import Span
from tracegraph.ingest.what_if.changes.resulting_graph import Replayed, replay_to_end
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, never_early
from tracegraph.ingest.what_if.scenarios.scenario import Scenario


@dataclass(frozen=True)
class Edited:
    """A graph with the work of its segments, and all dependencies that it has or had, as edited.

    `dependencies`: those of the graph first, then the added ones. `gap_name`: for each a position in
    `GAP_NAMES`. `kept`: which of them are still there.
    """

    graph: ReplayGraph
    work: Ints
    dependencies: Dependencies
    gap_name: Terms
    kept: Flags

    @cached_property
    def replay(self) -> Replay:
        """The replay of what is kept.

        Raises
        ------
        InputError
            If segments depend on each other in a circle.
        TracegraphError
            If the replay of the unedited graph does not reproduce its starts.
        """
        graph, recorded = self.graph, never_early(self.graph.dependencies.lag)
        there = select_rows(self.dependencies, self.kept)
        if np.array_equal(there.lag, recorded) and len(self.kept) == len(recorded):
            return graph.replay
        return graph.replay_with(find_links(graph.segments, there))

    def run(self, span: Span) -> Outcome:
        """Replay up to the last segment that counts for a window."""
        return self.replay.run(self.work, span.counts)

    def replayed(self, span: Span) -> Replayed:
        """Replay, and return the times with the dependencies that held."""
        there = select_rows(self.dependencies, self.kept)
        return replay_to_end(self.graph, self.run(span).start, self.work, there, self.gap_name[self.kept])


def unedited(graph: ReplayGraph) -> Edited:
    """Make the state of a graph before its first edit."""
    found = replace(graph.dependencies, lag=never_early(graph.dependencies.lag))
    return Edited(graph, graph.segments.work, found, graph.gap_name, np.ones(len(found), dtype=bool))


def with_added(edited: Edited, added: Dependencies) -> Edited:
    """Add dependencies after those that there are."""
    return replace(
        edited,
        dependencies=join_rows([edited.dependencies, added]),
        gap_name=np.append(edited.gap_name, GAP_OF_MECHANISM[added.mechanism]),
        kept=np.append(edited.kept, np.ones(len(added), dtype=bool)),
    )


def of_step(scenario: Scenario, rank: int, number: int) -> Scenario:
    """Cut from a scenario one step: the part of its path in the step's window."""
    steps, lanes = scenario.steps, scenario.lanes
    at = int(np.flatnonzero((steps.rank == rank) & (steps.number == number))[0])
    window = Window(int(steps.start[at]), int(steps.window_end[at]))
    of_rank = Lanes(lanes.frame.assign(matters=lanes.matters & (lanes.rank == rank)))
    sink = find_sink(scenario.segments, window, of_rank)
    segments = scenario.segments
    on_path = walk(segments, scenario.dependencies, scenario.binding, sink)
    clipped = replace(
        segments,
        start=np.maximum(segments.start, window.start),
        end=np.minimum(segments.end, window.end),
    )
    inside = on_path & (segments.end > window.start)
    of_window = replace(scenario.scene, window=window)
    return replace(scenario, scene=of_window, sink=sink, on_path=inside, segments=clipped)
