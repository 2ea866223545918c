"""The part of a causal graph that a replay needs, from the model of a run or from its kept tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.array_tables import select_rows
from tracegraph.ingest.causal.dependencies import Dependencies
from tracegraph.ingest.causal.edges import GAP_OF_MECHANISM
from tracegraph.ingest.causal.frames import Frames, find_frames
from tracegraph.ingest.causal.lanes import Lanes
from tracegraph.ingest.causal.model import Model
from tracegraph.ingest.causal.replay import Replay
from tracegraph.ingest.causal.segments import WAIT, WORK, Segments, Window
from tracegraph.ingest.text_columns import TextColumn, with_role
from tracegraph.store.categories import Role
from tracegraph.store.errors import TracegraphError
from tracegraph.store.mechanisms import CODE, PROGRAM_ORDER


@dataclass(frozen=True)
class Calls:
    """The events of a run in the order of the file, one array an attribute; times in ns.

    `parent`: index of the innermost event of its thread that contains it, -1 for none. `step`: number of the
    step it belongs to, `NONE` outside of all.
    """

    source_index: Ints
    name: TextColumn
    category: TextColumn
    lane: Ints
    start: Ints
    end: Ints
    parent: Ints
    step: Ints

    def __len__(self) -> int:
        return len(self.start)

    def of_role(self, *roles: Role) -> Flags:
        """Which events are of a category with one of `roles`."""
        return with_role(self.category, *roles)


@dataclass(frozen=True)
class StepWindow:
    """A step: its annotation, and the window that also holds the GPU work launched in it; ns."""

    number: int
    rank: int
    start: int
    end: int
    window_end: int


@dataclass(frozen=True)
class ReplayGraph:
    """Segments and dependencies of a run with what selects among them.

    `gap_name`: of each dependency, position in `GAP_NAMES`, meaningful where there is a gap. `fixed`: starts
    that nothing in the graph explains, by segment, ns.
    """

    calls: Calls
    lanes: Lanes
    segments: Segments
    dependencies: Dependencies
    gap_name: Ints
    frames: Frames
    steps: tuple[StepWindow, ...]
    window: Window
    sink: int
    fixed: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def replay(self) -> Replay:
        """The replay of the graph, which reproduces every start: this is tried here.

        Raises:
            TracegraphError: it does not, so nothing that it says of changes could be trusted.
        """
        replay = Replay(self.segments, self.dependencies, self.window, self.sink, self.fixed)
        again = replay.run(self.segments.work, np.ones(len(self.segments), dtype=bool)).start
        wrong = np.flatnonzero(again != self.segments.start)
        if len(wrong):
            raise TracegraphError(
                f"the replay of the unchanged run has {len(wrong)} of {len(again)} segments at other times",
                "this is a fault of tracegraph, please report it with the trace",
            )
        return replay

    @cached_property
    def on_recorded_edges(self) -> "ReplayGraph":
        """The graph as if nothing inferred were a cause: this one where nothing inferred binds.

        A wait that an inferred dependency ends is work of its thread then; what has no other cause follows
        what was before it on its lane, else its start is fixed. Every start stays as it is.
        """
        found, segments = self.dependencies, self.segments
        inferred = found.effect[found.binding & ~found.recorded]
        if not len(inferred):
            return self
        freed = np.zeros(len(segments) + 1, dtype=bool)
        freed[inferred] = True
        follows = np.append(segments.lane[1:] == segments.lane[:-1], False)
        waited = (segments.kind == WAIT) & follows & freed[1:]
        work = np.where(waited, segments.end - segments.start, segments.work)
        sure = replace(segments, work=work)
        kept = select_rows(found, found.recorded)
        edges = _bound_anew(sure, kept, np.flatnonzero(freed[:-1]), self.window)
        late = np.setdiff1d(np.flatnonzero(segments.start > self.window.start), edges.effect)
        fixed = dict(zip(late.tolist(), segments.start[late].tolist(), strict=True))
        names = GAP_OF_MECHANISM[edges.mechanism]
        return replace(self, segments=sure, dependencies=edges, gap_name=names, fixed=fixed)

    @cached_property
    def counted(self) -> Flags:
        """Which segments may end the window: work of events on lanes that matter."""
        segments = self.segments
        is_work = (segments.kind == WORK) & (segments.event >= 0)
        counted: Flags = is_work & self.lanes.matters[segments.lane]
        return counted if counted.any() else is_work | (np.arange(len(segments)) == self.sink)


def _bound_anew(segments: Segments, kept: Dependencies, freed: Ints, window: Window) -> Dependencies:
    """The edges where each of the `freed` segments is bound by what completes last of its other causes."""
    before = freed - 1
    beside = (before >= 0) & (segments.lane[before] == segments.lane[freed])
    begins = segments.start[freed] > window.start
    missing = beside & begins & ~np.isin(freed, kept.effect)
    added = np.flatnonzero(missing & (segments.completion[before] <= segments.start[freed]))
    cause, effect = (np.append(kept.cause, before[added]), np.append(kept.effect, freed[added]))
    code = np.append(kept.mechanism, np.full(len(added), CODE[PROGRAM_ORDER]))
    gap = segments.start[effect] - segments.completion[cause]
    latest = np.lexsort((-gap, effect))
    last = np.append(effect[latest][1:] != effect[latest][:-1], True)[: len(latest)]
    binding = np.append(kept.binding, np.zeros(len(added), dtype=bool))
    chosen = latest[last]
    chosen = chosen[np.isin(effect[chosen], freed)]
    binding[chosen] = True
    lag = np.append(kept.lag, np.zeros(len(added), dtype=np.int64))
    lag = np.where(binding, gap, np.minimum(lag, gap))
    sure = np.ones(len(cause), dtype=bool)
    return Dependencies(cause, effect, code, sure, sure.astype(float), gap, lag, binding)


def graph_of(model: Model) -> ReplayGraph:
    """What a replay needs of a model."""
    events, steps = model.events, model.steps
    rows = zip(steps.number, steps.rank, steps.start, steps.end, steps.window_end, strict=True)
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
        ),
        lanes=model.lanes,
        segments=model.segments,
        dependencies=model.dependencies,
        gap_name=model.gap_name,
        frames=find_frames(model),
        steps=tuple(StepWindow(*(int(value) for value in row)) for row in rows),
        window=model.window,
        sink=model.sink,
    )
