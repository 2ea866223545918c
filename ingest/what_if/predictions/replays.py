"""The replays of a window: unchanged and with a change, under each cost of recording."""

from functools import cached_property

import numpy as np

from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.longest_path import Outcome, Replay
from tracegraph.ingest.causal.graph.runs import chosen_links, find_links
from tracegraph.ingest.causal.graph.segments import GAP, WAIT
from tracegraph.ingest.what_if.changes.change import Change, Ended, Span, find_ended, find_left
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, never_early
from tracegraph.ingest.what_if.graph.overhead import NO_OVERHEAD, Overhead, charges
from tracegraph.ingest.what_if.predictions.gains import Gain
from tracegraph.vocabulary.mechanisms import CODE, STREAM_ORDER

NAIVE, LEAST, USUAL, MOST = "naive", "least", "usual", "most"
"""Levels of what is taken off for recording: nothing, and the least, usual and highest cost."""


class Replays:
    """Replays one window of a run, as it is and with changes, under one estimate of what recording cost."""

    def __init__(self, graph: ReplayGraph, span: Span, overhead: Overhead = NO_OVERHEAD) -> None:
        self.graph, self.span, self.overhead = graph, span, overhead
        self._outcomes: dict[str, Outcome] = {}
        self._ended_last: tuple[Change, Ended] | None = None

    @property
    def _usual(self) -> str:
        return USUAL if self.overhead.of_role else NAIVE

    @property
    def _levels(self) -> tuple[str, ...]:
        return (NAIVE, LEAST, USUAL, MOST) if self.overhead.of_role else (NAIVE,)

    def _work(self, level: str) -> Ints:
        """Compute the work of each segment without what is taken off for recording."""
        return self._works[level] if level != NAIVE else self.graph.segments.work

    @cached_property
    def _works(self) -> dict[str, Ints]:
        """The work of each segment without what is taken off for recording, at each level of its cost."""
        costs = dict(
            zip((LEAST, USUAL, MOST), (self.overhead.low, self.overhead, self.overhead.high), strict=True)
        )
        work, inside = self.graph.segments.work, self.span.inside
        taken = charges(self.graph, list(costs.values()))
        return {level: work - one * inside for level, one in zip(costs, taken, strict=True)}

    def unchanged(self, level: str = NAIVE) -> Outcome:
        """Replay the window without a change."""
        if level not in self._outcomes:
            self._outcomes[level] = self._replay(self._work(level))
        return self._outcomes[level]

    def _replay(self, work: Ints, replay: Replay | None = None) -> Outcome:
        return (replay or self.graph.replay).run(work, self.span.counts)

    @property
    def overhead_ns(self) -> int:
        """What recording cost in the window, on all threads, ns."""
        return int((self._work(NAIVE) - self._work(self._usual)).sum())

    @property
    def usual_work(self) -> Ints:
        """The work of each segment without what recording usually costs, ns."""
        return self._work(self._usual)

    @property
    def base_ns(self) -> int:
        """The length of the window before any change, without what recording usually costs, ns."""
        return self.span.length_where(self.unchanged(self._usual).end, self.unchanged().end)

    def gain(self, change: Change) -> Gain:
        """Predict the window before and after a change, corrected for the usual cost of recording."""
        return self._gain(self._usual, self._after(change, self._usual, self._changed_graph(change)))

    def _gain(self, level: str, after: Outcome) -> Gain:
        before = self.unchanged(level).end
        base = self.span.length_where(before, self.unchanged().end)
        return Gain(base, base - (before - after.end))

    def _after(self, change: Change, level: str, replay: Replay | None) -> Outcome:
        return self._replay(self._changed_work(change, self._work(level)), replay)

    def _changed_work(self, change: Change, work: Ints) -> Ints:
        changed = self._scaled_work(change, work)
        if change.ends_waits:
            segments = self.graph.segments
            changed[(segments.kind == GAP) & self._ended(change).stretches & segments.on_thread] = 0
        return changed

    def _scaled_work(self, change: Change, work: Ints) -> Ints:
        if change.removed is not None:
            return np.where(change.removed & self.span.inside, 0, work)
        at, factor = change.scaled
        if not self._is_whole:
            inside = self.span.inside[at]
            at, factor = at[inside], factor[inside]
        changed = work.copy()
        changed[at] = np.rint(work[at] * factor)
        return changed

    @cached_property
    def _is_whole(self) -> bool:
        return bool(self.span.inside.all())

    def _ended(self, change: Change) -> Ended:
        """Find what ends at once, for all levels of a change together."""
        if self._ended_last is None or self._ended_last[0] is not change:
            self._ended_last = change, find_ended(self.graph, self.span, change)
        return self._ended_last[1]

    def _removed_ns(self, change: Change, level: str, left: Ints) -> int:
        """Sum up the time that a change removes from the unchanged replay of a level, ns.

        `left`: the work that is left of each segment, ns.
        """
        edit = change.edit if change.edit is not None and change.edit.is_structural else None
        if edit is not None and edit.reorders:
            return self.span.length_ns  # the recorded order is gone: no sum of work bounds it
        work = self._work(level)
        if not change.ends_waits and edit is None and change.removed is not None:
            return int(work.sum() - left.sum())
        shorter = np.maximum(work - left, 0)
        if not change.ends_waits and edit is None:
            return int(shorter.sum())
        segments, found = self.graph.segments, self.graph.dependencies
        ended = self._ended(change).stretches
        if edit is not None:
            freed = edit.freed & self.span.inside
            ended = ended | np.append(freed[1:], False) & (segments.kind == WAIT) & segments.on_thread
        at = np.flatnonzero(ended)
        lasts = self._lasting(at, work, self.unchanged(level))
        lag = np.zeros(len(segments), dtype=np.int64)
        lagging = np.flatnonzero(self._ended(change).dependencies)
        effect = found.effect[lagging]
        # On a thread, the stretch before an edge already stands for its lag.
        told = segments.on_thread[effect] & ended[effect - 1] & (effect > 0)
        np.maximum.at(lag, effect[~told], found.lag[lagging[~told]])
        if edit is not None:
            follows = np.flatnonzero(found.mechanism == CODE[STREAM_ORDER])
            follows = follows[edit.queue_lag[found.effect[follows]] != NONE]
            effect = found.effect[follows]
            np.maximum.at(lag, effect, found.lag[follows] - np.maximum(edit.queue_lag[effect], 0))
        return int(shorter.sum() + np.maximum(lasts - shorter[at], 0).sum() + lag.sum())

    def _lasting(self, at: Ints, work: Ints, outcome: Outcome) -> Ints:
        """Calculate how long some segments last in a replay; a wait lasts until what follows on its lane."""
        segments, start = self.graph.segments, outcome.starts()
        after = np.minimum(at + 1, len(segments) - 1)
        follows = (after > at) & (segments.lane[after] == segments.lane[at]) & (segments.kind[at] == WAIT)
        return np.where(follows, start[after] - start[at], work[at])

    def _changed_graph(self, change: Change) -> Replay | None:
        """Make the replay with changed dependencies, None if only work is changed."""
        if not change.is_structural:
            return None
        graph = self.graph
        left = find_left(graph, self.span, change, lambda: self._ended(change))
        edited = change.edit is not None and change.edit.is_structural
        alike = not edited and left.kept.all()
        if alike and (left.lag == never_early(graph.dependencies.lag)).all():
            return None  # only gaps between the segments of threads end: they held nothing else
        links = chosen_links(graph.dependencies, left.lag, graph.sides, left.kept)
        if len(left.added):
            links = join_rows([links, find_links(graph.segments, left.added)])
        return graph.replay_with(links)
