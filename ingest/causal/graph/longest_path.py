"""Replays of a causal graph: how late segments may end, and what remains without some of the work.

Segments that follow each other on a lane move together between their ports, so that only the ports need a
loop: within a run, start(i) = anchor + offset(i), and the anchor changes at entries alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.anchors import Entries
from tracegraph.ingest.causal.graph.order import order_of
from tracegraph.ingest.causal.graph.runs import Links, Runs
from tracegraph.ingest.causal.graph.segments import GAP, Segments

_FAR = 1 << 62
"""Stands for a bound that does not exist yet, ns; half of the range of int64 is left for sums with it."""


@dataclass(frozen=True)
class Outcome:
    """A replay: when the last segment that counts is complete, ns, and, on demand, more about it.

    `starts` and `walk` find when each segment starts, and the segments that lead to the end. They are called
    only if somebody asks for `start` or `on_path`.
    """

    end: int
    starts: Callable[[], Ints]
    walk: Callable[[], Flags]

    @cached_property
    def start(self) -> Ints:
        """When each segment starts, ns."""
        return self.starts()

    @cached_property
    def on_path(self) -> Flags:
        """Which segments lead to the last that counts."""
        return self.walk()


class Replay:
    """The causal graph as runs and ports, for replays.

    A run is a stretch of a lane in which each segment has an edge from the one before. A port is a segment at
    either end of any other edge. An entry is a port that such an edge reaches, or whose start is fixed: only
    there may something else than the run's own work hold it up.

    Parameters
    ----------
    sink
        The position of the segment in which the path ends.
    fixed
        For positions of segments, the times in ns before which they do not start whatever their causes.
    """

    def __init__(
        self,
        segments: Segments,
        links: Links,
        window: Window,
        sink: int,
        fixed: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.segments, self.window, self.sink = segments, window, sink
        self._fixed: Ints = np.array(list(fixed), dtype=np.int64)
        self._since: Ints = np.array(list(fixed.values()), dtype=np.int64)
        count = len(segments)
        self._runs = Runs(count, links.follows, links.waits)
        self._run, self._firsts = self._runs.of_segment, self._runs.firsts
        self._marked: _Marks | None = None
        is_port = np.zeros(count, dtype=bool)
        for some in (links.cause, links.effect, self._fixed):
            is_port[some] = True
        self._ports = order_of(np.flatnonzero(is_port), segments, links)
        self._run_of_port = self._run[self._ports]
        place = self._place()
        self._fixed_ports = place[self._fixed]
        self._causes = _Edges(place[links.effect], place[links.cause], links.lag, len(self._ports))
        is_entry = self._causes.counts > 0
        is_entry[self._fixed_ports] = True
        self._entry_ports = np.flatnonzero(is_entry)
        self._entries: Ints = self._ports[is_entry]

    def slack(self) -> Ints:
        """Calculate by how many ns each segment's completion may move before the window gets longer.

        This is a backward pass: latest(s) = min over its effects e of latest(e) - work(e) - lag(s, e), or the
        window's end without effects. The gap after the last event of a thread gives way: nothing awaits it.
        """
        segments, ports, effects = self.segments, self._ports, self._causes.turned()
        work = np.where(self._trailing_gaps(), 0, segments.work)
        offset = self._runs.offsets(work)
        lasts = np.flatnonzero(np.append(self._runs.begins[1:], True)[: len(segments)])
        has_effects = np.zeros(len(segments), dtype=bool)
        has_effects[ports] = effects.counts > 0
        base = np.where(has_effects[lasts], _FAR, self.window.end - (work + offset)[lasts])
        anchors = base.tolist()
        at, run = offset[ports].tolist(), self._run[ports].tolist()
        done = (offset + work)[ports].tolist()
        port_anchor = [0] * len(ports)
        first, other, lag = effects.lists()
        for port in range(len(ports) - 1, -1, -1):
            anchor = anchors[run[port]]
            for i in range(first[port], first[port + 1]):
                effect = other[i]
                bound = port_anchor[effect] + at[effect] - lag[i] - done[port]
                anchor = min(anchor, bound)
            anchors[run[port]] = port_anchor[port] = anchor
        latest = self._spread(port_anchor, base, self._next_port())
        slack: Ints = latest + offset + work - segments.completion
        return slack

    def _trailing_gaps(self) -> Flags:
        """Tell which gaps end the window on their thread, except for the one in which the path ends."""
        segments = self.segments
        trailing: Flags = (segments.kind == GAP) & (segments.end == self.window.end) & segments.on_thread
        trailing[self.sink] = False
        return trailing

    def without(self, removed: Flags, counts: Flags) -> Outcome:
        """Replay without the work of the `removed` segments.

        The outcome ends with the last segment of `counts`, which must not be empty.
        """
        return self.run(np.where(removed, 0, self.segments.work), counts)

    def run(self, work: Ints, counts: Flags) -> Outcome:
        """Replay with the given work of each segment, ns.

        The outcome ends with the last segment of `counts`, which must not be empty.
        """
        ports, marks = self._ports, self._marks(counts)
        total = self._runs.totals_at(marks.segments, work)
        origin = total[marks.of_firsts]
        at = total[marks.of_ports] - origin[self._run_of_port]
        floors = np.full(len(self._entries), self.window.start)
        fixed = self._fixed_ports
        since = np.maximum(self._since - at[fixed], self.window.start)
        floors[np.searchsorted(self._entry_ports, fixed)] = since
        later = self._causes.along(at, at + work[ports])
        reached = self._held_up.reach(later, floors, self.window.start)
        last = marks.last
        begun = reached.of_entry[self._entry_before(last)] + total[marks.of_last] - origin[self._run[last]]
        ends = begun + work[last]
        end = int(ends.max())

        def starts() -> Ints:
            total = self._runs.totals(work)
            found: Ints = reached.of_entry[self._entry_before()] + total
            found -= total[self._firsts][self._run]
            return found

        def walk() -> Flags:
            sink = int(last[ends == end][0])
            if not work[sink]:  # then others of its run may complete at the same time: the first one counts
                mine = np.arange(self._firsts[self._run[sink]], sink + 1)
                mine = mine[counts[mine]]
                sink = int(mine[(starts()[mine] + work[mine]).argmax()])
            return self._walk(sink, *self._held_up.raised(reached, self.window.start))

        return Outcome(end, starts, walk)

    def _marks(self, counts: Flags) -> "_Marks":
        """Find the segments whose times say when the last one that counts ends; most ask for the same."""
        if self._marked is None or self._marked.counts is not counts:
            counted = np.flatnonzero(counts)
            run = self._run[counted]
            # The last one of a run completes last in it, since no work is negative.
            last = counted[np.append(run[1:] != run[:-1], True)[: len(run)]]
            self._marked = _Marks(counts, last, self._firsts, self._ports)
        return self._marked

    def _walk(self, sink: int, chosen: Ints, raised_by: Ints) -> Flags:
        """Mark the segments from each entry of a run up to where the path leaves it."""
        marks = np.zeros(len(self.segments) + 1, dtype=np.int64)
        at, last = sink, int(self._entry_before(np.array([sink]))[0])
        while True:
            entry = int(raised_by[last]) if last >= 0 else -1
            begin = int(self._entries[entry]) if entry >= 0 else int(self._firsts[self._run[at]])
            marks[begin] += 1
            marks[at + 1] -= 1
            if entry < 0:
                on_path: Flags = np.cumsum(marks)[:-1] > 0
                return on_path
            edge = chosen[entry]
            at, last = int(self._ports[self._causes.others[edge]]), int(self._held_up.cause[edge])

    @cached_property
    def _held_up(self) -> Entries:
        causes = self._entry_before(self._ports[self._causes.others])
        return Entries(self._run[self._entries], self._causes.counts[self._entry_ports], causes)

    def _entry_before(self, which: Ints | slice = slice(None)) -> Ints:
        """Find the last entry of the same run at or before each segment, -1 for none."""
        counted, entry, run = self._entries_in_lanes
        place = counted[which]
        return np.where(run[place] == self._run[which], entry[place], -1)

    @cached_property
    def _entries_in_lanes(self) -> tuple[Ints, Ints, Ints]:
        """Count the entries up to each segment, and list these after none in its order, with their runs."""
        is_entry = np.zeros(len(self.segments), dtype=bool)
        is_entry[self._entries] = True
        entry = np.append(-1, np.argsort(self._entries))
        return np.cumsum(is_entry), entry, np.append(-1, self._run[self._entries[entry[1:]]])

    def _place(self) -> Ints:
        """Find where each segment is among the ports, -1 for those that are none."""
        place = np.full(len(self.segments), -1, dtype=np.int64)
        place[self._ports] = np.arange(len(self._ports))
        return place

    def _next_port(self) -> Ints:
        """Find the nearest port of the same run at or after each segment, -1 for none."""
        place, index = self._place(), np.arange(len(self.segments))
        index = np.minimum.accumulate(np.where(place >= 0, index, len(index))[::-1])[::-1]
        there = index < len(index)
        index = np.where(there, index, 0)
        return np.where(there & (self._run[index] == self._run), place[index], -1)

    def _spread(self, port_anchor: list[int], base: Ints, nearest: Ints) -> Ints:
        """Give every segment the anchor of its nearest port, or of its run if there is none."""
        known = np.array([*port_anchor, 0], dtype=np.int64)
        anchors: Ints = np.where(nearest >= 0, known[nearest], base[self._run])
        return anchors


class _Marks:
    """The first segments of runs, the last that count, and ports, and where each is among all of these."""

    def __init__(self, counts: Flags, last: Ints, firsts: Ints, ports: Ints) -> None:
        self.counts, self.last = counts, last
        marked = np.zeros(len(counts), dtype=bool)
        for some in (firsts, last, ports):
            marked[some] = True
        self.segments: Ints = np.flatnonzero(marked)
        place = np.cumsum(marked) - 1
        self.of_firsts, self.of_last, self.of_ports = place[firsts], place[last], place[ports]


class _Edges:
    """Edges between ports, grouped by one of their ends."""

    def __init__(self, key: Ints, other: Ints, lag: Ints, ports: int) -> None:
        order = np.argsort(key, kind="stable")
        self.counts: Ints = np.bincount(key, minlength=ports)
        self._first = np.append(0, np.cumsum(self.counts))
        self._key, self.others, self._lag = key[order], other[order], lag[order]

    def turned(self) -> "_Edges":
        """Group the same edges by their other end."""
        return _Edges(self.others, self._key, self._lag, len(self.counts))

    def along(self, at: Ints, done: Ints) -> Ints:
        """Calculate by how many ns each effect is anchored after its cause.

        `at`, `done`: start and completion of each port, counted from its anchor.
        """
        return done[self.others] + self._lag - at[self._key]

    def lists(self) -> tuple[list[int], list[int], list[int]]:
        """List where each port's edges begin, the port at their other end, and their lag."""
        return self._first.tolist(), self.others.tolist(), self._lag.tolist()
