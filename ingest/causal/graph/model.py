"""The causal model of a run: from its events to segments, dependencies and the critical path."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.graph.binding import bind, find_sink, walk
from tracegraph.ingest.causal.graph.doubtful_edges import lower_behind_lost, lower_confidence
from tracegraph.ingest.causal.graph.gaps import name_gaps
from tracegraph.ingest.causal.graph.meetings import Meetings
from tracegraph.ingest.causal.graph.rendezvous import join_ranks, thread_waits
from tracegraph.ingest.causal.graph.segments import build_segments, completions
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.causal.rules import EVIDENCE, POLICIES, SHARED, apply
from tracegraph.ingest.causal.rules.context import Context, Scene, Stated, find_context
from tracegraph.ingest.causal.rules.edges import Edges, Found
from tracegraph.ingest.integrity_findings import Integrity


def solve(scene: Scene, found: Found, cross_thread: str, meetings: Meetings | None = None) -> Solution:
    """Find the causal graph and its path, and how sure its dependencies are; the rest as in `find_path`."""
    solution = find_path(scene, found, cross_thread, meetings)
    events, segments = scene.events, solution.segments
    dependencies = lower_confidence(scene.doubts, events, segments, solution.dependencies)
    dependencies = lower_behind_lost(events, segments, dependencies, solution.gap_name)
    return replace(solution, dependencies=dependencies)


def find_path(scene: Scene, found: Found, cross_thread: str, meetings: Meetings | None = None) -> Solution:
    """Cut the lanes at the ports of the edges, choose what explains every start, and walk the path.

    Confidence is that of the rules, as if the files told all.

    Parameters
    ----------
    scene
        The events of the run, with what the rules looked at.
    found
        What the rules find under the policy `cross_thread`.
    meetings
        Where the ranks of a job met; None for a single file.
    """
    events, window = scene.events, scene.window
    waits = found.waits if meetings is None else join_rows([found.waits, thread_waits(meetings, events)])
    cuts = [np.concatenate(both) for both in zip(scene.steps.cuts, scene.phases.cuts, strict=True)]
    edges = _drop_backward(events, found.edges)
    segments = build_segments(events, scene.stack, scene.lanes, window, edges, waits, (cuts[0], cuts[1]))
    segments, joints = (segments, None) if meetings is None else join_ranks(segments, events, meetings)
    dependencies, binding = bind(segments, edges, window, joints)
    gap_name = name_gaps(events, scene.launches, scene.stack, segments, dependencies)
    sink = find_sink(segments, window, scene.lanes)
    return Solution(
        scene=scene,
        segments=segments,
        dependencies=dependencies,
        gap_name=gap_name,
        binding=binding,
        on_path=walk(segments, dependencies, binding, sink),
        sink=sink,
        cross_thread=cross_thread,
        meetings=meetings,
    )


def _drop_backward(events: Events, edges: Edges) -> Edges:
    """Leave out edges between works of no length at one moment whose cause comes after its effect.

    Their order is that of `causal_order`: by lane, then by number. To leave them out costs no time, but
    what they explained must be known to lack a cause before the streams get their roots.
    """
    cause, effect = edges.cause_event, edges.effect_event
    empty = completions(events, edges) == events.start
    at_once = (cause >= 0) & (effect >= 0) & (events.start[cause] == events.start[effect])
    at_once &= empty[cause] & empty[effect]
    before = np.where(
        events.lane[cause] == events.lane[effect], cause < effect, events.lane[cause] < events.lane[effect]
    )
    return select_rows(edges, ~at_once | before)


@dataclass(frozen=True)
class Model(Solution):
    """The graph of a run under one policy between threads, and what it is under the others."""

    found: Found
    """What the graph was made from, but for the meetings of ranks."""
    under: Callable[[str], Found]
    """The same under another policy."""


def make_model(
    scene: Scene, found: Callable[[str], Found], cross_thread: str, meetings: Meetings | None = None
) -> Model:
    """Solve a graph and replay it; `found`: what the rules find under each of `rules.POLICIES`."""
    mine = found(cross_thread)
    solution = solve(scene, mine, cross_thread, meetings)
    return Model(**_fields(solution), found=mine, under=found)


@dataclass(frozen=True)
class RankModel(Model):
    """The graph of one file; `scene` is all that its rules looked at."""

    scene: Context

    @property
    def clock_offset_ns(self) -> int:
        """What was added to the GPU rows at the window's start."""
        return self.scene.clock.offset_ns

    @property
    def clock_drift_ppb(self) -> int:
        """How many ns more were added each second."""
        return self.scene.clock.drift_ppb


def build_model(
    events: Events,
    lanes: Lanes,
    integrity: Integrity,
    cross_thread: str = EVIDENCE,
    stated: Stated | None = None,
) -> RankModel:
    """Apply the rules of the causal model.

    Parameters
    ----------
    integrity
        Takes what is found odd.
    cross_thread
        The policy between threads, one of `rules.POLICIES`.
    stated
        What the file says besides its events.
    """
    context = find_context(events, lanes, integrity, stated)
    shared = apply(SHARED, context, Found())
    model = make_model(context, lambda policy: apply(POLICIES[policy], context, shared), cross_thread)
    return RankModel(**_fields(model))


def _fields(solution: Solution) -> dict[str, Any]:
    return {field.name: getattr(solution, field.name) for field in fields(solution)}
