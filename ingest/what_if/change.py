"""A change of a run: what takes less time or ends at once, in which window, and what then depends on what."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.array_tables import select_rows
from tracegraph.ingest.causal.dependencies import Dependencies
from tracegraph.ingest.causal.segments import WAIT
from tracegraph.ingest.what_if.edit import Edit, apply_edit, inside_span, join_edits
from tracegraph.ingest.what_if.graph import ReplayGraph, StepWindow, never_early
from tracegraph.store.mechanisms import MECHANISMS

_WAITS = np.array([m.kind in ("SYNCHRONIZATION", "CROSS_THREAD") and not m.own_wait for m in MECHANISMS])


@dataclass(frozen=True)
class Change:
    """What is assumed: the factor of each segment's work, and the gaps (by code) that end at once.

    `at_calls`: those that end at once on threads only, not between streams. `edit`: what fixes change.
    """

    factor: Floats
    gaps: tuple[int, ...] = ()
    at_calls: tuple[int, ...] = ()
    edit: Edit | None = None

    @property
    def is_structural(self) -> bool:
        """Whether what depends on what is different, too."""
        return bool(self.of_threads) or (self.edit is not None and self.edit.is_structural)

    @property
    def factors(self) -> Floats:
        """By what each segment's work is multiplied, by fixes, too."""
        return self.factor if self.edit is None else self.factor * self.edit.factor

    @property
    def of_threads(self) -> tuple[int, ...]:
        """All gaps that end at once on threads."""
        return (*self.gaps, *self.at_calls)


def join_changes(changes: Sequence[Change]) -> Change:
    """All of them at once."""
    edits = [one.edit for one in changes if one.edit is not None]
    return Change(
        factor=np.prod([one.factor for one in changes], axis=0),
        gaps=tuple(dict.fromkeys(code for one in changes for code in one.gaps)),
        at_calls=tuple(dict.fromkeys(code for one in changes for code in one.at_calls)),
        edit=join_edits(edits) if edits else None,
    )


@dataclass(frozen=True)
class Span:
    """The window that is predicted, ns, and the segments that may end it; its start stays where it is."""

    start: int
    end: int
    counts: Flags
    inside: Flags

    @property
    def length_ns(self) -> int:
        """Its length."""
        return self.end - self.start

    def length_where(self, ends: int, ended: int) -> int:
        """Its length in a replay that ends at `ends`, where that of the unchanged run `ended`."""
        return self.length_ns - (ended - ends)


def whole_window(graph: ReplayGraph) -> Span:
    """The window of the run."""
    everything = np.ones(len(graph.segments), dtype=bool)
    return Span(graph.window.start, graph.window.end, graph.counted, everything)


def step_window(graph: ReplayGraph, step: StepWindow) -> Span:
    """The window of a step: only what starts in it changes, so that its start is fixed."""
    segments, calls = graph.segments, graph.calls
    inside = (segments.start >= step.start) & (segments.start < step.window_end)
    on_thread = segments.on_thread & (segments.start < step.end)
    launched = ~segments.on_thread & (calls.step[segments.event] == step.number)
    of_rank = graph.lanes.rank[segments.lane] == step.rank
    counts = inside & graph.counted & of_rank & (on_thread | launched)
    return Span(step.start, step.window_end, counts if counts.any() else inside, inside)


def changed_dependencies(graph: ReplayGraph, span: Span, change: Change) -> tuple[Dependencies, Ints]:
    """The dependencies that a change leaves or puts in, and the names of their gaps.

    Who waits in a gap that ends at once no longer does; what starts late after its cause starts at once.
    """
    found, gap_name = never_early(graph.dependencies), graph.gap_name
    if change.edit is not None and change.edit.is_structural:
        edit = inside_span(change.edit, span.inside)
        found, gap_name = apply_edit(edit, graph.segments, found, gap_name)
    if not change.of_threads:
        return found, gap_name
    on_thread = graph.segments.on_thread[found.effect]
    named = np.where(on_thread, np.isin(gap_name, change.of_threads), np.isin(gap_name, change.gaps))
    ended = named & span.inside[found.effect]
    freed = ended & _WAITS[found.mechanism]
    waits = graph.segments.kind == WAIT
    # A wait inside a call has the name, not the edge that ends it where that has no lag.
    after_wait = np.append(False, waits[:-1] & np.isin(graph.segments.gap_name[:-1], change.of_threads))
    freed |= after_wait[found.effect] & span.inside[found.effect] & _WAITS[found.mechanism]
    changed = replace(found, lag=np.where(ended, 0, found.lag))
    return select_rows(changed, ~freed), gap_name[~freed]
