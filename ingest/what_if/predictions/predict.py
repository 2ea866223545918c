"""How a change alters a window: naive, corrected for the cost of recording, and with a range."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.hotspots import Kinds, find_kinds
from tracegraph.ingest.causal.graph.longest_path import Outcome
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.what_if.changes.change import Change, whole_window
from tracegraph.ingest.what_if.graph.facts import WorkFacts
from tracegraph.ingest.what_if.graph.graph import graph_of
from tracegraph.ingest.what_if.graph.overhead import estimate_overhead
from tracegraph.ingest.what_if.graph.recorded_edges import on_recorded_edges
from tracegraph.ingest.what_if.graph.shared_cores import SharedCores
from tracegraph.ingest.what_if.graph.unrecorded_time import held_by_earlier_work
from tracegraph.ingest.what_if.predictions.gains import Bound, Gain, possible_range, spread_of_mean, why_wide
from tracegraph.ingest.what_if.predictions.replays import NAIVE, Replays
from tracegraph.ingest.what_if.predictions.results import CORRECTED, Glance, Prediction, Ranged

# The number of hotspots that are listed for the time after a change.
_FOLLOWING = 3


class Predictor(Replays):
    """Predicts changes of one window of a run under one estimate of what recording cost."""

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
