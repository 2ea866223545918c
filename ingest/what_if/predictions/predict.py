"""How a change alters a window: naive, corrected for the cost of recording, and with a range."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.hotspots import Kinds, find_kinds
from tracegraph.ingest.causal.graph.longest_path import Outcome, Replay
from tracegraph.ingest.causal.graph.runs import chosen_links, find_links
from tracegraph.ingest.causal.graph.segments import GAP, WAIT, WORK
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.what_if.changes.change import (
    Change,
    Ended,
    Span,
    find_ended,
    find_left,
    whole_window,
)
from tracegraph.ingest.what_if.graph.facts import WorkFacts
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of, never_early
from tracegraph.ingest.what_if.graph.overhead import NO_OVERHEAD, Overhead, charges, estimate_overhead
from tracegraph.ingest.what_if.graph.recorded_edges import on_recorded_edges
from tracegraph.ingest.what_if.graph.shared_cores import SharedCores
from tracegraph.ingest.what_if.graph.unrecorded_time import held_by_earlier_work
from tracegraph.ingest.what_if.predictions.gains import Bound, Gain, possible_range, spread_of_mean, why_wide
from tracegraph.vocabulary.mechanisms import CODE, STREAM_ORDER

CORRECTED = "corrected"
NAIVE, LEAST, USUAL, MOST = "naive", "least", "usual", "most"
"""Levels of what is taken off for recording: nothing, and the least, usual and highest cost."""
# The number of hotspots that are listed for the time after a change.
_FOLLOWING = 3


@dataclass(frozen=True)
class Ranged:
    """A change's gain, corrected for what recording cost, and how far it may be off.

    Attributes
    ----------
    low, high
        The range that the cost of recording, inferred dependencies, work from before the recording, what a
        fix leaves open (`Edit.otherwise`) and what a replay does not know (caches, other processes) leave; it
        never exceeds `most_ns`, unless a fix leaves more open.
    wide
        Why the two are more than tenfold apart, empty if they are not.
    removed_ns, most_ns
        The time that the change removes, and the most that it may remove from as many other steps, ns.
    inferred_share
        The share (0..1) of the corrected gain that depends on inferred dependencies.
    """

    corrected: Gain
    low: Bound
    high: Bound
    wide: str
    removed_ns: int
    most_ns: int
    inferred_share: float


@dataclass(frozen=True)
class Prediction(Ranged):
    """Everything that is predicted of a change; `naive`: its gain as recorded.

    `overhead_ns`: what recording cost in the window, on all threads. `after`: the naive replay, `after_work`:
    the work of its segments. `following`: the hotspots of the path then.
    """

    naive: Gain
    overhead: Overhead
    overhead_ns: int
    after: Outcome
    after_work: Ints
    following: Sequence[Mapping[str, object]]

    @property
    def basis(self) -> str:
        """What `corrected` is: "corrected", or "naive" if no cost of recording is known to take off."""
        return CORRECTED if self.overhead.of_role else NAIVE


@dataclass(frozen=True)
class Glance:
    """A change's gain without its range, and whether it is corrected or naive: see `Prediction`."""

    basis: str
    corrected: Gain
    naive: Gain
    following: Sequence[Mapping[str, object]]


class Predictor:
    """Predicts changes of one window of a run under one estimate of what recording cost."""

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

    def glance(self, change: Change) -> Glance:
        """Predict a change without how far the gain may be off."""
        replay = self._changed_graph(change)
        work = self._changed_work(change, self._work(NAIVE))
        after = self._replay(work, replay)
        naive = self._gain(NAIVE, after)
        usual = self._usual
        corrected = naive if usual == NAIVE else self._gain(usual, self._after(change, usual, replay))
        basis = CORRECTED if self.overhead.of_role else NAIVE
        return Glance(basis, corrected, naive, self._following(after, work))

    def predict(self, change: Change, least: Change | None = None) -> Prediction:
        """Predict everything that is said of a change; `least`: as in `ranged`."""
        replay = self._changed_graph(change)
        works = {level: self._changed_work(change, self._work(level)) for level in self._levels}
        after = self._replay(works[NAIVE], replay)
        gains = {NAIVE: self._gain(NAIVE, after)}
        for level in self._levels[1:]:  # these replays are not kept: each holds as much as the graph's times
            gains[level] = self._gain(level, self._replay(works[level], replay))
        said = self._down_to(least, self._ranged(change, works, gains))
        return Prediction(
            **vars(said),
            naive=gains[NAIVE],
            overhead=self.overhead,
            overhead_ns=self.overhead_ns,
            after=after,
            after_work=works[NAIVE],
            following=self._following(after, works[NAIVE]),
        )

    def ranged(self, change: Change, known: Gain, least: Change | None = None) -> Ranged:
        """Add its range to a change's gain, without what is then critical.

        `known`: the result of `gain` for the change. `least`: a smaller change, if `change` is the most that
        is possible.
        """
        works = {level: self._changed_work(change, self._work(level)) for level in self._levels}
        gains = {self._usual: known}
        if len(works) > 1:
            replay = self._changed_graph(change)
            others = {level: work for level, work in works.items() if level != self._usual}
            gains |= {level: self._gain(level, self._replay(work, replay)) for level, work in others.items()}
        return self._down_to(least, self._ranged(change, works, gains))

    def _down_to(self, least: Change | None, said: Ranged) -> Ranged:
        """Let a range begin with the gain of a smaller change, and end with what is most possible."""
        if least is None:
            return said
        known, fewer = said.corrected, self.gain(least)
        lowest = min(said.low, Bound(fewer.gain_ns, fewer.speedup), key=lambda one: one.gain_ns)
        return replace(said, low=lowest, high=Bound(known.gain_ns, known.speedup))

    def _ranged(self, change: Change, works: Mapping[str, Ints], gains: Mapping[str, Gain]) -> Ranged:
        corrected = gains[self._usual]
        sure = corrected if self._sure is None else self._sure.gain(change)
        inferred_part = 1 - sure.gain_ns / (corrected.gain_ns or 1)
        doubted = corrected.times(1 - (1 - self._confidence) * inferred_part)
        removed = {level: self._removed_ns(change, level, work) for level, work in works.items()}
        held = corrected if self._held is None else self._held.gain(change)
        likely = (doubted, corrected.at_most(held.gain_ns), *(gains[level] for level in works))
        others = [self.gain(one) for one in self._otherwise(change)]
        other_steps = 1 + self._by_chance(change, works[NAIVE])
        most = [round(ns * other_steps) for ns in (removed[self._usual],) * 2 + tuple(removed.values())]
        low, high = possible_range((*likely, *others), [*most, *[self.span.length_ns] * len(others)])
        return Ranged(
            corrected=corrected,
            low=low,
            high=high,
            wide=why_wide(low, high, gains, doubted, inferred_part, held),
            removed_ns=removed[self._usual],
            most_ns=max(most),
            inferred_share=float(np.clip(inferred_part, 0, 1)) if corrected.gain_ns else 0.0,
        )

    def _otherwise(self, change: Change) -> list[Change]:
        """List what the change may be besides, by what the file leaves open."""
        if change.edit is not None:
            return [replace(change, edit=one) for one in change.edit.otherwise]
        freed = self._cores.freed(np.where(self.span.inside, change.factor, 1.0))
        return [] if freed is None else [replace(change, factor=freed)]

    def _by_chance(self, change: Change, left: Ints) -> float:
        """Find the share (0..1) by which a change may remove more from other steps than from recorded ones.

        It is half the 95 % interval of the mean over these; 0 if they are too few to tell.

        Parameters
        ----------
        left
            The work that is left of each segment, ns.
        """
        if not self._steps[1]:
            return 0.0
        if change.removed is None:
            return spread_of_mean(self._in_steps(np.maximum(self._work(NAIVE) - left, 0)))
        return spread_of_mean(self._spent_in_steps - self._in_steps(left))

    def _in_steps(self, work: Ints) -> Ints:
        """Sum up work in each step of the window, ns."""
        number, count = self._steps
        sums: Ints = np.bincount(number, work, count + 1)[:count].astype(np.int64)
        return sums

    @cached_property
    def _spent_in_steps(self) -> Ints:
        return self._in_steps(self._work(NAIVE))

    @cached_property
    def _steps(self) -> tuple[npt.NDArray[np.int32], int]:
        """The place of each segment's step among those of the window, `count` for none, and this count."""
        span, calls, event = self.span, self.graph.calls, self.graph.segments.event
        inside = [one for one in self.graph.steps if span.start <= one.start and one.end <= span.end]
        numbers = np.unique([one.number for one in inside])
        if not len(numbers):
            return np.empty(0, dtype=np.int32), 0
        place = np.searchsorted(numbers, calls.step)
        known = np.append(numbers, 0)[place] == calls.step
        known &= place < len(numbers)
        of_call = np.append(np.where(known, place, len(numbers)), len(numbers)).astype(np.int32)
        return of_call[event], len(numbers)

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

    @cached_property
    def _cores(self) -> SharedCores:
        return SharedCores(self.graph)

    @cached_property
    def _sure(self) -> "Predictor | None":
        """The predictor of a graph in which inferred waits are work, and nothing inferred is a cause.

        None if it is this graph: an object that holds itself would stay in memory for long.
        """
        sure = on_recorded_edges(self.graph)
        return None if sure is self.graph else Predictor(sure, self.span, self.overhead)

    @cached_property
    def _held(self) -> "Predictor | None":
        """The predictor of a graph in which work from before the recording ends when it did.

        None if it is this graph.
        """
        held = held_by_earlier_work(self.graph)
        return None if held is self.graph else Predictor(held, self.span, self.overhead)

    @cached_property
    def _confidence(self) -> float:
        """The mean confidence (0..1) of the inferred dependencies that bind."""
        found = self.graph.dependencies
        inferred = found.confidence[found.binding & ~found.recorded]
        return float(inferred.mean()) if len(inferred) else 1.0

    def _following(self, after: Outcome, work: Ints) -> list[dict[str, object]]:
        kinds, at = self._kinds, np.flatnonzero(after.on_path & self._may_follow)
        mine = replace(kinds, number=kinds.number[at])
        lengths = mine.lengths(work[at])
        return [mine.row(lengths, number) for number in mine.longest(lengths, _FOLLOWING)]

    @cached_property
    def _may_follow(self) -> Flags:
        """The work of events in the window."""
        segments = self.graph.segments
        works: Flags = self.span.inside & (segments.kind == WORK) & (segments.event >= 0)
        return works

    @cached_property
    def _kinds(self) -> Kinds:
        """The name and category of each segment's event; they mean nothing for gaps."""
        calls, event = self.graph.calls, self.graph.segments.event
        return find_kinds(calls, np.maximum(event, 0) if len(calls) else event[:0])


def predictor_of(model: Solution, facts: Callable[[], WorkFacts] | None = None) -> Predictor:
    """Make the predictor of the whole window of a run, with an estimate of what recording it cost."""
    graph = replace(graph_of(model), facts=facts)
    return Predictor(graph, whole_window(graph), estimate_overhead(graph))
