"""The comparison of every binding edge of a model, on the path or not, with the cause in the truth."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.vocabulary.categories import Role

_NEAR_NS = 50_000
"""The most by which a start of the model may differ from the true start that it is compared with."""


@dataclass(frozen=True)
class TrueStarts:
    """Segments of the simulation by (lane, start): what happened there, and why it started then.

    Attributes
    ----------
    event, cause
        Positions in traceEvents, -1 for a thread with no event open.
    lane, cause_lane
        Lanes of the model.
    start
        Times in ns.
    along
        Whether the segment before on the same thread or stream is the cause.
    """

    event: Ints
    lane: Ints
    start: Ints
    cause: Ints
    cause_lane: Ints
    along: Flags

    @property
    def stride(self) -> int:
        """A number larger than all times, so that lane * stride + time orders by both."""
        return int(self.start.max(initial=0)) + 2 * _NEAR_NS

    def around(self, chosen: Flags, lane: Ints, time: Ints) -> tuple[Ints, Ints]:
        """Find the last chosen segments to start up to each time on its lane, and the next ones; -1: none."""
        rows = np.append(np.flatnonzero(chosen), -1)
        keys = self.lane[rows[:-1]] * self.stride + self.start[rows[:-1]]
        at = np.searchsorted(keys, lane * self.stride + np.minimum(time, self.stride - 1), "right")
        before, after = (np.where(self.lane[found] == lane, found, -1) for found in (rows[at - 1], rows[at]))
        return before, after


def read_true_starts(truth: dict[str, Any], lane_of: Ints) -> TrueStarts:
    """Read the `bindings` of a truth; `lane_of` is the lane of each position in traceEvents.

    The truth does not name a lane if no event is open. Such a segment follows the one before on its thread,
    and as a cause of another thread it is the last one that had begun.
    """
    rows = truth["bindings"]
    event, cause = (np.array([row[i] for row in rows], dtype=np.int64) for i in (1, 4))
    start, lag = (np.rint([row[i] * 1000 for row in rows]).astype(np.int64) for i in (2, 6))
    along: Flags = np.array([row[5] == "seq" for row in rows], dtype=bool)
    bare = np.flatnonzero(event < 0)
    before = np.where(cause[bare] >= 0, lane_of[cause[bare]], -1)
    known = np.maximum.accumulate(np.where(before >= 0, np.arange(len(bare)), 0))
    lane = lane_of[event]
    lane[bare] = before[known]
    cause_lane = np.where(along, lane, lane_of[cause])
    in_time = bare[np.argsort(start[bare], kind="stable")]
    unnamed = np.flatnonzero((cause < 0) & ~along) if len(bare) else bare
    position = np.searchsorted(start[in_time], (start - lag)[unnamed], "left") - 1
    cause_lane[unnamed] = lane[in_time[np.maximum(position, 0)]]
    order = np.lexsort((np.arange(len(rows)), start, lane))
    event, lane, start, cause, cause_lane = (x[order] for x in (event, lane, start, cause, cause_lane))
    return TrueStarts(event, lane, start, cause, cause_lane, along[order])


@dataclass(frozen=True)
class Judged:
    """Binding edges (positions in the dependencies), whether each is right, and how many are left out."""

    edge: Ints
    right: Flags
    left_out: int


def judge_bindings(model: Model, truth: dict[str, Any]) -> Judged:
    """Judge all binding edges into work of an event.

    An edge into GPU work is right if the truth has the same GPU activity, or the same call, or, if that call
    has no row, the same thread. For work of a thread, a cause on another lane is right if the truth's
    nearest start with such a cause on this thread, at most 50 µs away, has the same activity or thread;
    program order is right if the truth has no such start at that moment. A thread that the truth does not
    know only polls: it does not wait. Edges are left out if the truth has no segment for them, as with times
    that are rounded to nothing.
    """
    segments, events = model.segments, model.events
    lane_of = np.full(int(events.source_index.max()) + 2, -1, dtype=np.int64)
    lane_of[events.source_index] = events.lane
    true = read_true_starts(truth, lane_of)
    effect = np.flatnonzero((segments.event >= 0) & (segments.kind == WORK) & (model.binding.edge >= 0))
    edge = model.binding.edge[effect]
    found = _Found(model, true, effect, model.dependencies.cause[edge])
    right, known = np.zeros(len(effect), dtype=bool), np.zeros(len(effect), dtype=bool)
    on_thread = segments.on_thread[effect]
    for chosen, judge in ((on_thread, found.on_threads), (~on_thread, found.on_streams)):
        rows = np.flatnonzero(chosen)
        right[rows], known[rows] = judge(rows, 999 if truth["args"]["int_us"] else 1)
    return Judged(edge[known], right[known], int((~known).sum()))


@dataclass(frozen=True)
class _Found:
    """Effects and their binding causes, as segments of the model."""

    model: Model
    true: TrueStarts
    effect: Ints
    cause: Ints

    def _source(self, segment: Ints) -> Ints:
        event = self.model.segments.event[segment]
        return np.where(event >= 0, self.model.events.source_index[event], -1)

    def _same_cause(self, rows: Ints, start: Ints) -> Flags:
        """Tell whether the cause of each row is that of a true start: the activity, or else the thread."""
        cause = self.cause[rows]
        same_lane = self.model.segments.lane[cause] == self.true.cause_lane[start]
        on_thread = self.model.segments.on_thread[cause]
        same_event = self._source(cause) == self.true.cause[start]
        same: Flags = np.where(on_thread, same_lane, same_event & (self.true.cause[start] >= 0))
        return same

    def on_streams(self, rows: Ints, _: int) -> tuple[Flags, Flags]:
        """Tell whether each is right, and whether the truth knows it, by the activity's first true start."""
        events = self.model.events
        order = np.lexsort((self.true.start, self.true.event))
        mine = self._source(self.effect[rows])
        at = np.minimum(np.searchsorted(self.true.event[order], mine, "left"), len(order) - 1)
        start = order[at]
        known: Flags = self.true.event[start] == mine
        right = self._same_cause(rows, start)
        is_call = np.zeros(int(events.source_index.max()) + 2, dtype=bool)
        is_call[events.source_index] = events.of_role(Role.CALL)
        other_call = is_call[self.true.cause[start]] & (
            self._source(self.cause[rows]) != self.true.cause[start]
        )
        return right & ~other_call, known

    def on_threads(self, rows: Ints, rounding: int) -> tuple[Flags, Flags]:
        """Tell whether each is right, and whether the truth knows it."""
        segments, true = self.model.segments, self.true
        lane, time = segments.lane[self.effect[rows]], segments.start[self.effect[rows]]
        start, _ = true.around(np.ones(len(true.event), dtype=bool), lane, time + rounding)
        unknown_lane = ~np.isin(lane, true.lane)
        known = unknown_lane | ((start >= 0) & (true.event[start] == self._source(self.effect[rows])))
        at_start = (start >= 0) & (true.start[start] >= time - rounding)
        in_order = ~(at_start & ~true.along[start]) | unknown_lane
        along = segments.lane[self.cause[rows]] == lane
        crossing = self._nearest_crossing(lane, time)
        there = (crossing >= 0) & (np.abs(true.start[crossing] - time) <= _NEAR_NS)
        return np.where(along, in_order, there & self._same_cause(rows, crossing)), known | ~along

    def _nearest_crossing(self, lane: Ints, time: Ints) -> Ints:
        """Find the true start nearest to each time that another lane caused; -1 if this lane has none."""
        true = self.true
        before, after = true.around(~true.along, lane, time)
        nearer = true.start[after] - time < time - true.start[before]
        return np.where((before < 0) | ((after >= 0) & nearer), after, before)
