"""What a change makes of a window: naive, corrected for what recording cost, and how far that may be off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.hotspots import find_kinds
from tracegraph.ingest.causal.replay import Outcome, Replay
from tracegraph.ingest.causal.segments import GAP, WORK
from tracegraph.ingest.what_if.change import Change, Span, changed_dependencies
from tracegraph.ingest.what_if.graph import ReplayGraph
from tracegraph.ingest.what_if.overhead import NO_OVERHEAD, Overhead, charge
from tracegraph.ingest.what_if.recorded import on_recorded_edges

NAIVE, LEAST, USUAL, MOST = "naive", "least", "usual", "most"
"""Levels of what is taken off for recording: nothing, and by what it may have cost."""
_UNKNOWN = 0.1
"""Share of a gain by which it differs from one measurement of the same change to the next."""
_FOLLOWING = 3


@dataclass(frozen=True)
class Gain:
    """A window before and after a change, ns."""

    base_ns: int
    predicted_ns: int

    @property
    def gain_ns(self) -> int:
        """By how much it is shorter."""
        return self.base_ns - self.predicted_ns

    @property
    def speedup(self) -> float:
        """How many times as fast it is; infinite where nothing is left."""
        return self.base_ns / self.predicted_ns if self.predicted_ns > 0 else float("inf")

    def times(self, factor: float) -> "Gain":
        """The same window with a multiple of the gain, at most all of it."""
        return Gain(self.base_ns, max(0, self.base_ns - round(self.gain_ns * factor)))


@dataclass(frozen=True)
class Bound:
    """One end of a range, of the gain (ns) and of the speedup."""

    gain_ns: int
    speedup: float


def possible_range(likely: Sequence[Gain]) -> tuple[Bound, Bound]:
    """What gains that are likely leave possible, lowest and highest: what a replay does not know is added."""
    possible = [gain.times(1 + by) for gain in likely for by in (-_UNKNOWN, _UNKNOWN)]
    gains_ns, speedups = [one.gain_ns for one in possible], [one.speedup for one in possible]
    return Bound(min(gains_ns), min(speedups)), Bound(max(gains_ns), max(speedups))


@dataclass(frozen=True)
class Prediction:
    """A change's gain: corrected for what recording cost; and as recorded, `naive`.

    `low`, `high`: within what the cost of recording, inferred dependencies and what a replay does not know
    (caches, other processes) leave it. `overhead_ns`: what recording cost in the window, on all threads.
    `inferred_share`: of the corrected gain, how much hangs on inferred dependencies, 0..1. `after`: the naive
    replay, `after_work`: the work of its segments. `following`: the hotspots of the path then.
    """

    corrected: Gain
    low: Bound
    high: Bound
    naive: Gain
    overhead: Overhead
    overhead_ns: int
    inferred_share: float
    after: Outcome
    after_work: Ints
    following: Sequence[Mapping[str, object]]


class Predictor:
    """Predicts changes of one window of a run under one estimate of what recording cost."""

    def __init__(self, graph: ReplayGraph, span: Span, overhead: Overhead = NO_OVERHEAD) -> None:
        self.graph, self.span, self.overhead = graph, span, overhead

    @property
    def _usual(self) -> str:
        return USUAL if self.overhead.of_role else NAIVE

    @cached_property
    def _levels(self) -> dict[str, Ints]:
        """The work of each segment by what is taken off for recording."""
        overhead, work = self.overhead, self.graph.segments.work
        levels = {NAIVE: work}
        if overhead.of_role:
            for level, one in ((LEAST, overhead.low), (USUAL, overhead), (MOST, overhead.high)):
                levels[level] = work - np.where(self.span.inside, charge(self.graph, one), 0)
        return levels

    @cached_property
    def _before(self) -> dict[str, Outcome]:
        return {level: self._replay(work) for level, work in self._levels.items()}

    def _replay(self, work: Ints, replay: Replay | None = None) -> Outcome:
        return (replay or self.graph.replay).run(work, self.span.counts)

    @property
    def overhead_ns(self) -> int:
        """What recording cost in the window, on all threads, ns."""
        return int((self._levels[NAIVE] - self._levels[self._usual]).sum())

    @property
    def usual_work(self) -> Ints:
        """The work of each segment without what recording usually costs, ns."""
        return self._levels[self._usual]

    @property
    def base_ns(self) -> int:
        """Length of the window before any change, without what recording usually costs."""
        return self.span.length_where(self._before[self._usual].end, self._before[NAIVE].end)

    def gain(self, change: Change) -> Gain:
        """The window before and after a change, corrected for the usual cost of recording."""
        return self._gain(self._usual, self._after(change, self._usual, self._changed_graph(change)))

    def predict(self, change: Change) -> Prediction:
        """All that is said of a change."""
        replay = self._changed_graph(change)
        afters = {level: self._after(change, level, replay) for level in self._levels}
        gains = {level: self._gain(level, after) for level, after in afters.items()}
        corrected = gains[self._usual]
        inferred_part = 1 - self._sure.gain(change).gain_ns / (corrected.gain_ns or 1)
        doubted = corrected.times(1 - (1 - self._confidence) * inferred_part)
        likely = (doubted, *gains.values())
        low, high = possible_range(likely)
        return Prediction(
            corrected=corrected,
            low=low,
            high=high,
            naive=gains[NAIVE],
            overhead=self.overhead,
            overhead_ns=self.overhead_ns,
            inferred_share=float(np.clip(inferred_part, 0, 1)) if corrected.gain_ns else 0.0,
            after=afters[NAIVE],
            after_work=self._changed_work(change, self._levels[NAIVE]),
            following=self._following(change, afters[NAIVE]),
        )

    def _gain(self, level: str, after: Outcome) -> Gain:
        before = self._before[level].end
        base = self.span.length_where(before, self._before[NAIVE].end)
        return Gain(base, base - (before - after.end))

    def _after(self, change: Change, level: str, replay: Replay | None) -> Outcome:
        return self._replay(self._changed_work(change, self._levels[level]), replay)

    def _changed_work(self, change: Change, work: Ints) -> Ints:
        segments, inside = self.graph.segments, self.span.inside
        changed = np.where(inside, np.rint(work * change.factors).astype(np.int64), work)
        ended = inside & (segments.kind == GAP) & np.isin(segments.gap_name, change.of_threads)
        return np.where(ended, 0, changed)

    def _changed_graph(self, change: Change) -> Replay | None:
        """The replay in which other things depend on each other, None where only work is changed."""
        if not change.is_structural:
            return None
        changed, _ = changed_dependencies(self.graph, self.span, change)
        return Replay(self.graph.segments, changed, self.graph.window, self.graph.sink, self.graph.fixed)

    @cached_property
    def _sure(self) -> "Predictor":
        """Where inferred waits are work of their threads, and nothing inferred is a cause."""
        sure = on_recorded_edges(self.graph)
        return self if sure is self.graph else Predictor(sure, self.span, self.overhead)

    @cached_property
    def _confidence(self) -> float:
        """How sure the inferred dependencies are that bind, on average."""
        found = self.graph.dependencies
        inferred = found.confidence[found.binding & ~found.recorded]
        return float(inferred.mean()) if len(inferred) else 1.0

    def _following(self, change: Change, after: Outcome) -> list[dict[str, object]]:
        segments, calls = self.graph.segments, self.graph.calls
        on_path = after.on_path & self.span.inside & (segments.kind == WORK) & (segments.event >= 0)
        at = np.flatnonzero(on_path)
        kinds = find_kinds(calls, segments.event[at])
        lengths = kinds.lengths(self._changed_work(change, segments.work)[at])
        return [kinds.row(lengths, number) for number in kinds.longest(lengths, _FOLLOWING)]
