"""A change of a run: what takes less time or ends at once, in which window, and what depends then."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints, Terms
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.segments import WAIT, WORK
from tracegraph.ingest.causal.rules.edges import GAP_OF_MECHANISM
from tracegraph.ingest.what_if.changes.edit import FOR_OTHERS, Edit, Left, apply_edit, inside_span, join_edits
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, StepWindow, never_early
from tracegraph.vocabulary.gaps import GAP_CODE, GAP_NAMES, WAITING_FOR_RANK
from tracegraph.vocabulary.mechanisms import CODE, COLLECTIVE


@dataclass(frozen=True)
class EndedWaits:
    """Waits of threads inside some segments that end at once: of a gap or of a rule, by code.

    One of `gap` and `mechanism` is -1 and does not matter.
    """

    inside: Flags
    gap: int = -1
    mechanism: int = -1


@dataclass(frozen=True)
class Change:
    """What is assumed: the factor of each segment's work, and the gaps (by code) that end at once.

    `at_calls`: gaps that end at once on threads only, not between streams. `waits`: only some waits of a gap,
    or those of a rule. `edit`: what fixes change.
    """

    factor: Floats
    gaps: tuple[int, ...] = ()
    at_calls: tuple[int, ...] = ()
    waits: tuple[EndedWaits, ...] = ()
    edit: Edit | None = None

    @property
    def is_structural(self) -> bool:
        """Whether the change also alters which segments depend on which."""
        return self.ends_waits or (self.edit is not None and self.edit.is_structural)

    @property
    def factors(self) -> Floats:
        """The factor by which each segment's work is multiplied, also by fixes."""
        return self.factor if self.edit is None else self.factor * self.edit.factor

    @cached_property
    def scaled(self) -> tuple[Ints, Floats]:
        """The segments whose work takes another time, and by what it is multiplied."""
        factors = self.factors
        at = np.flatnonzero(factors != 1)
        return at, factors[at]

    @cached_property
    def removed(self) -> Flags | None:
        """The segments whose work takes no time, if that of all others stays; else None."""
        factors = self.factors
        gone = factors == 0
        return gone if np.count_nonzero(gone) == np.count_nonzero(factors != 1) else None

    @property
    def of_threads(self) -> tuple[int, ...]:
        """All gaps that end at once on threads."""
        return (*self.gaps, *self.at_calls)

    @property
    def ends_waits(self) -> bool:
        """Whether anything ends at once."""
        return bool(self.of_threads or self.waits)


def join_changes(changes: Sequence[Change]) -> Change:
    """Join changes into one that makes them all at once."""
    edits = [one.edit for one in changes if one.edit is not None]
    return Change(
        factor=np.prod([one.factor for one in changes], axis=0),
        gaps=tuple(dict.fromkeys(code for one in changes for code in one.gaps)),
        at_calls=tuple(dict.fromkeys(code for one in changes for code in one.at_calls)),
        waits=tuple(wait for one in changes for wait in one.waits),
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
        """The length of the window."""
        return self.end - self.start

    def length_where(self, ends: int, ended: int) -> int:
        """Compute its length in a replay that ends at `ends`, if the unchanged run's replay `ended`; ns."""
        return self.length_ns - (ended - ends)


def whole_window(graph: ReplayGraph) -> Span:
    """Make the window of the run."""
    everything = np.ones(len(graph.segments), dtype=bool)
    return Span(graph.window.start, graph.window.end, graph.counted, everything)


def step_window(graph: ReplayGraph, step: StepWindow) -> Span:
    """Make the window of a step: only what starts in it changes, so that its start is fixed."""
    segments, calls = graph.segments, graph.calls
    inside = (segments.start >= step.start) & (segments.start < step.window_end)
    on_thread = segments.on_thread & (segments.start < step.end)
    launched = ~segments.on_thread & (calls.step[segments.event] == step.number)
    of_rank = graph.lanes.rank[segments.lane] == step.rank
    counts = inside & graph.counted & of_rank & (on_thread | launched)
    return Span(step.start, step.window_end, counts if counts.any() else inside, inside)


@dataclass(frozen=True)
class Ended:
    """The waits and gaps of a window that are segments, and the dependencies, that end at once in a change.

    A dependency ends if its lag has the name of a gap that ends at once, or if its rule ends.
    """

    stretches: Flags
    dependencies: Flags


def find_ended(graph: ReplayGraph, span: Span, change: Change) -> Ended:
    """Find what ends at once in a window."""
    segments, found = graph.segments, graph.dependencies
    stretches = _are_named(segments.gap_name, segments.on_thread, change)
    named = _are_named(graph.gap_name, segments.on_thread[found.effect], change)
    for one in change.waits:
        if one.gap >= 0:
            stretches |= one.inside & segments.on_thread & (segments.gap_name == one.gap)
            on_thread = segments.on_thread[found.effect]
            named |= on_thread & (graph.gap_name == one.gap) & _inside(graph, one)
        else:
            of_rule = _of_rule(graph, one)
            stretches |= _before(graph, of_rule)
            named |= of_rule
    return Ended(stretches & span.inside & (segments.kind != WORK), named & span.inside[found.effect])


def _are_named(gap_name: Terms, on_thread: Flags, change: Change) -> Flags:
    """Tell which gaps end at once by their names, on threads and elsewhere."""
    codes = np.arange(len(GAP_NAMES) + 1)
    named: Flags = np.isin(codes, change.gaps).take(gap_name)
    return named | (np.isin(codes, change.at_calls).take(gap_name) & on_thread) if change.at_calls else named


def _of_rule(graph: ReplayGraph, one: EndedWaits) -> Flags:
    """Flag the dependencies of a rule for which threads wait inside the segments of `one`."""
    found = graph.dependencies
    mine: Flags = (found.mechanism == one.mechanism) & _inside(graph, one)
    return mine & graph.segments.on_thread[found.effect]


def _inside(graph: ReplayGraph, one: EndedWaits) -> Flags:
    """Flag the dependencies that end a wait inside the segments of `one`, or start one of these."""
    effect = graph.dependencies.effect
    waits = np.append(False, (graph.segments.kind != WORK)[:-1])
    there: Flags = np.where(waits[effect], one.inside[effect - 1], one.inside[effect])
    return there


def _before(graph: ReplayGraph, chosen: Flags) -> Flags:
    """Flag the segments on whose end the effects of chosen dependencies follow on their thread."""
    segments, effect = graph.segments, graph.dependencies.effect[chosen]
    before = effect[(effect > 0) & (segments.lane[effect - 1] == segments.lane[effect])] - 1
    flags = np.zeros(len(segments), dtype=bool)
    flags[before] = True
    return flags


def changed_dependencies(graph: ReplayGraph, span: Span, change: Change) -> tuple[Dependencies, Terms]:
    """Find the dependencies that a change leaves or adds, and the names of their gaps.

    A thread that waits for another lane no longer does; a segment that starts late after its cause starts at
    once. A rank that no longer waits for others continues from the moment when it comes itself.
    """
    left = find_left(graph, span, change, lambda: find_ended(graph, span, change))
    found = select_rows(replace(graph.dependencies, lag=left.lag), left.kept)
    names = np.append(graph.gap_name[left.kept], GAP_OF_MECHANISM[left.added.mechanism])
    return join_rows([found, left.added]), names


def find_left(graph: ReplayGraph, span: Span, change: Change, ended: Callable[[], Ended]) -> Left:
    """Find which dependencies a change leaves and adds; `ended`: finds what ends at once in it."""
    left = Left(np.ones(len(graph.dependencies), dtype=bool), never_early(graph.dependencies.lag))
    if change.ends_waits:
        left = _without_waits(graph, span, change, ended(), left)
    if change.edit is None or not change.edit.is_structural:
        return left
    edit = inside_span(change.edit, span.inside)
    return apply_edit(edit, graph.segments, graph.dependencies, graph.gap_name, left)


def _without_waits(graph: ReplayGraph, span: Span, change: Change, ended: Ended, left: Left) -> Left:
    """Find the dependencies that are left if the gaps of a change end at once."""
    found, segments = graph.dependencies, graph.segments
    for_others = FOR_OTHERS.take(found.mechanism)
    waits = ended.stretches & (segments.kind == WAIT)
    # A wait inside a call has the name; the edge that ends it has none if it has no lag.
    after_wait = np.append(False, waits[:-1] & segments.on_thread[:-1]) & span.inside
    freed = (ended.dependencies | after_wait[found.effect]) & for_others
    if GAP_CODE[WAITING_FOR_RANK] in change.gaps:
        freed |= span.inside[found.effect] & _between_ranks(graph)
    return replace(left, kept=~freed, lag=np.where(ended.dependencies, 0, left.lag))


def _between_ranks(graph: ReplayGraph) -> Flags:
    """Flag the dependencies by which a rank waits for another one."""
    found, rank = graph.dependencies, graph.lanes.rank[graph.segments.lane]
    apart: Flags = (found.mechanism == CODE[COLLECTIVE]) & (rank[found.cause] != rank[found.effect])
    return apart
