"""What recording cost: the profiler's time in each event, estimated from the recording itself."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.what_if.graph.graph import Calls, ReplayGraph
from tracegraph.vocabulary.categories import Role

BOUNDS = {Role.FRAME: (0.4, 1.7), Role.OPERATOR: (0.4, 3.0)}
"""The roles whose events have a cost, and the factors (low, high) by which its estimate may be wrong.

Such events are recorded by thousands and often last for less than their recording. The factors are those
found in recordings of jobs that were timed without the profiler, too. See docs/rules.md.
"""
FROM_FILE, GIVEN, NONE_TAKEN = "estimated from the file", "given", "none"
_LEAST_EVENTS = 100
"""Events of a role from which on a file shows what they cost."""
_CHEAP, _LOWEST, _LEAST_SHARE, _LEAST_ALIKE = 1.5, 0.05, 0.01, 20
"""How the cheapest kinds of stretches are found.

A kind is cheap if its low quantile is at most `_CHEAP` times the lowest; which quantile; the share of all
stretches that the kinds must have that define the lowest; and the stretches that a kind must have to count.
"""
_OUTLIER = 20
"""Stretches of more than this many times the median hold other work, too, and are left out."""
_LONGEST_END_NS = 250
"""A profiler takes less time than this before an event ends; longer ends show other work."""
_UNSEEN = 1.2
"""Factor of the seen cost: tracing slows Python down between events, too, as those recordings show."""


@dataclass(frozen=True)
class Cost:
    """What recording one event takes: outside of it, before it begins, and inside, before it ends; ns."""

    outside_ns: float
    inside_ns: float

    @property
    def total_ns(self) -> float:
        """The sum of the two, ns."""
        return self.outside_ns + self.inside_ns

    def times(self, factor: float) -> "Cost":
        """Multiply the cost by a factor."""
        return Cost(self.outside_ns * factor, self.inside_ns * factor)


@dataclass(frozen=True)
class Overhead:
    """The cost of an event by its role, and how it is known; nothing is taken off for other roles.

    `bounds`: the factors by which the truth may differ, lowest and highest, by role.
    """

    method: str
    of_role: Mapping[Role, Cost]
    bounds: Mapping[Role, tuple[float, float]] = field(default_factory=dict)

    @property
    def low(self) -> "Overhead":
        """The least that it may be."""
        return self._scaled({role: low for role, (low, _) in self.bounds.items()})

    @property
    def high(self) -> "Overhead":
        """The most that it may be."""
        return self._scaled({role: high for role, (_, high) in self.bounds.items()})

    def _scaled(self, factors: Mapping[Role, float]) -> "Overhead":
        return Overhead(
            self.method, {role: cost.times(factors.get(role, 1)) for role, cost in self.of_role.items()}
        )


NO_OVERHEAD = Overhead(NONE_TAKEN, {})


def given_overhead(ns: float) -> Overhead:
    """Assume the same cost (ns) for each Python frame and operator, as a user measured it."""
    return Overhead(GIVEN, dict.fromkeys(BOUNDS, Cost(ns / 2, ns / 2)))


def estimate_overhead(graph: ReplayGraph) -> Overhead:
    """Estimate the cost of Python frames and of operators, if the file shows it.

    A profiler takes its time before an event begins and before it ends. If a parent does next to nothing
    before or between its calls, or a leaf next to nothing at all, that time is what is seen. So the cost is
    the mean of such stretches: those of the kinds (names of parent and child) whose shortest stretches are as
    short as those of the shortest kinds. A file whose shortest ends are longer than a profiler takes (250
    ns), or whose times are too coarse, shows nothing.
    """
    calls = graph.calls
    on_thread = graph.lanes.is_thread[calls.lane]
    has_child = np.zeros(len(calls) + 1, dtype=bool)
    has_child[calls.parent] = True
    found = {}
    for role in BOUNDS:
        mine = calls.of_role(role) & on_thread
        cost = _cost(calls, mine, ~has_child[:-1]) if mine.sum() >= _LEAST_EVENTS else None
        if cost is not None:
            found[role] = cost
    return Overhead(FROM_FILE, found, BOUNDS) if found else NO_OVERHEAD


def _cost(calls: Calls, mine: Flags, is_leaf: Flags) -> Cost | None:
    """Estimate the cost of the events `mine`, None if it cannot be seen."""
    index = np.flatnonzero(mine)
    index = index[np.lexsort((calls.start[index], calls.parent[index]))]
    parent, name = calls.parent[index], calls.name.codes.astype(np.int64)
    inside_mine = (parent >= 0) & mine[parent]
    follows = np.append(False, parent[1:] == parent[:-1])
    before = np.append(-1, index[:-1])
    began = np.where(follows, calls.end[before], calls.start[parent])
    last = np.append(~follows[1:], True) & inside_mine
    kind = (name[parent] * (len(calls.name.values) + 1) + name[index]) * 2 + follows
    outside = _cheap_mean((calls.start[index] - began)[inside_mine], kind[inside_mine])
    leaf = np.flatnonzero(mine & is_leaf)
    ends = [
        _cheap_mean((calls.end - calls.start)[leaf], name[leaf]),
        _cheap_mean((calls.end[parent] - calls.end[index])[last], kind[last]),
    ]
    seen = [one for one in ends if one is not None]
    end = min(seen, key=lambda one: one.mean, default=None)
    if outside is None or end is None or end.floor > _LONGEST_END_NS:
        return None
    return Cost(outside.mean, end.mean).times(_UNSEEN)


@dataclass(frozen=True)
class _Cheapest:
    floor: float
    mean: float


def _cheap_mean(lengths: Ints, kind: Ints) -> _Cheapest | None:
    """Average those kinds of stretches that are often as short as the shortest kinds."""
    frame = pd.DataFrame({"length": lengths[lengths >= 0], "kind": kind[lengths >= 0]})
    groups = frame.groupby("kind")["length"]
    kinds = pd.DataFrame({"count": groups.size(), "low": groups.quantile(_LOWEST)})
    kinds = kinds[kinds["count"] >= _LEAST_ALIKE].sort_values("low")
    enough = kinds["count"].cumsum() >= _LEAST_SHARE * len(frame)
    if not enough.any() or (floor := float(kinds["low"][enough].iloc[0])) <= 0:
        return None
    cheap = frame["length"][frame["kind"].isin(kinds.index[kinds["low"] <= _CHEAP * floor])]
    return _Cheapest(floor, float(cheap[cheap <= _OUTLIER * cheap.median()].mean()))


def charge(graph: ReplayGraph, overhead: Overhead) -> Ints:
    """Compute how much of each segment's work was recording, ns: at most all of it.

    The rest of the cost is taken from the segments after it.
    """
    return next(charges(graph, [overhead]))


def charges(graph: ReplayGraph, overheads: Sequence[Overhead]) -> Iterator[Ints]:
    """Compute the same for several overheads of the same roles."""
    segments = graph.segments
    roles, works = list(overheads[0].of_role), segments.work * segments.on_thread
    if not roles or not segments.on_thread.any():
        yield from (np.zeros(len(segments), dtype=np.int64) for _ in overheads)
        return
    places = {role: _places(graph, role) for role in roles}
    for overhead in overheads:
        due = np.zeros(len(segments) + 1)
        for role, (first, before) in places.items():
            np.add.at(due, first, overhead.of_role[role].inside_ns)
            np.add.at(due, before, overhead.of_role[role].outside_ns)
        yield _taken(due[:-1], works, segments.lane)


def _places(graph: ReplayGraph, role: Role) -> tuple[Ints, Ints]:
    """Find the segment with which each event of a role begins, and the one before; their count for none."""
    calls, segments = graph.calls, graph.segments
    threads, nowhere = np.flatnonzero(segments.on_thread), len(segments)
    stride = graph.window.end - graph.window.start + 1
    keys = segments.lane[threads] * stride + segments.start[threads] - graph.window.start
    inside = (calls.start >= graph.window.start) & (calls.end <= graph.window.end)
    mine = np.flatnonzero(calls.of_role(role) & graph.lanes.is_thread[calls.lane] & inside)
    lane = calls.lane[mine]
    place = np.searchsorted(keys, lane * stride + calls.start[mine] - graph.window.start)
    at_or_after, lanes = np.append(threads, nowhere), np.append(segments.lane, -1)
    # Recording as the window begins took its time before it; recording as it ends takes it after.
    first, before = at_or_after[place], at_or_after[place - 1]
    return tuple(np.where(lanes[one] == lane, one, nowhere) for one in (first, before))  # type: ignore[return-value]


def _taken(due: "np.ndarray[tuple[int], np.dtype[np.float64]]", work: Ints, lane: Ints) -> Ints:
    """Compute what is taken from each work if the rest of what is due is taken from those after it."""
    owed = due - work
    np.cumsum(owed, out=owed)
    begins = np.flatnonzero(np.append(True, lane[1:] != lane[:-1]))
    sizes = np.diff(np.append(begins, len(lane)))
    owed -= np.repeat(owed[begins] - due[begins] + work[begins], sizes)
    # What is still owed after a segment: what came due since the last moment at which nothing was owed.
    least = np.minimum(owed, 0)
    for begin, size in zip(begins.tolist(), sizes.tolist(), strict=True):
        own = least[begin : begin + size]
        np.minimum.accumulate(own, out=own)
    rest = np.subtract(owed, least, out=owed)
    taken = np.add(due[1:], rest[:-1], out=least[1:])
    taken[begins[1:] - 1] = due[begins[1:]]
    least[0] = due[0]
    taken = np.subtract(least, rest, out=least)
    return np.rint(np.clip(taken, 0, work, out=taken), out=taken).astype(np.int64)
