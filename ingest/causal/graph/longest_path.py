"""Replays of a causal graph: how late segments may end, and what remains without some of the work.

Segments that follow each other on a lane move together between their ports, so that only the ports need a
loop: within a run, start(i) = anchor + offset(i), and the anchor changes at entries alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.order import replay_order
from tracegraph.ingest.causal.graph.runs import Runs, follows_in_lane
from tracegraph.ingest.causal.graph.segments import GAP, Segments
from tracegraph.vocabulary.mechanisms import CODE, GIL_HOLDER

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
        found: Dependencies,
        window: Window,
        sink: int,
        fixed: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.segments, self.window, self.sink = segments, window, sink
        self._fixed = fixed
        count = len(segments)
        # In a replay others may hold the GIL, so its recorded holder holds nobody up.
        holds = found.mechanism == CODE[GIL_HOLDER]
        found = select_rows(found, ~holds) if holds.any() else found
        along = follows_in_lane(segments, found)
        self._runs = Runs(count, found.effect[along], found.lag[along])
        self._run, self._firsts = self._runs.of_segment, self._runs.firsts
        self._counted: tuple[Flags, tuple[Ints, Ints]] | None = None
        across = ~along
        cause, effect, lag = found.cause[across], found.effect[across], found.lag[across]
        in_order = replay_order(segments, found)
        is_port = np.zeros(count, dtype=bool)
        is_port[cause] = True
        is_port[effect] = True
        is_port[list(fixed)] = True
        self._ports = in_order[is_port[in_order]]
        self._place = place = np.full(count, -1, dtype=np.int64)
        place[self._ports] = np.arange(len(self._ports))
        self._causes = _Edges(place[effect], place[cause], lag, len(self._ports))
        self._effects = _Edges(place[cause], place[effect], lag, len(self._ports))
        is_entry = self._causes.counts > 0
        is_entry[place[list(fixed)]] = True
        self._entry_ports = np.flatnonzero(is_entry)
        self._entries: Ints = self._ports[is_entry]

    def slack(self) -> Ints:
        """Calculate by how many ns each segment's completion may move before the window gets longer.

        This is a backward pass: latest(s) = min over its effects e of latest(e) - work(e) - lag(s, e), or the
        window's end without effects. The gap after the last event of a thread gives way: nothing awaits it.
        """
        segments, ports = self.segments, self._ports
        work = np.where(self._trailing_gaps(), 0, segments.work)
        offset = self._runs.offsets(work)
        lasts = np.flatnonzero(np.append(self._runs.begins[1:], True)[: len(segments)])
        has_effects = np.zeros(len(segments), dtype=bool)
        has_effects[ports] = self._effects.counts > 0
        base = np.where(has_effects[lasts], _FAR, self.window.end - (work + offset)[lasts])
        anchors = base.tolist()
        at, run = offset[ports].tolist(), self._run[ports].tolist()
        done = (offset + work)[ports].tolist()
        port_anchor = [0] * len(ports)
        first, other, lag = self._effects.lists()
        for port in range(len(ports) - 1, -1, -1):
            anchor = anchors[run[port]]
            for i in range(first[port], first[port + 1]):
                effect = other[i]
                bound = port_anchor[effect] + at[effect] - lag[i] - done[port]
                anchor = min(anchor, bound)
            anchors[run[port]] = port_anchor[port] = anchor
        latest = self._spread(port_anchor, base, self._nearest(ports, following=True))
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
        ports, entries, begun = self._ports, self._entries, self.window.start
        total = self._runs.totals(work)
        origin = total[self._firsts]
        at = total[ports] - origin[self._run[ports]]
        anchors = [begun] * len(origin)
        earliest = np.full(len(ports), begun)
        for segment, time in self._fixed.items():
            earliest[self._place[segment]] = time - at[self._place[segment]]
        floors = earliest[self._entry_ports]
        entry_anchor = [begun] * (len(entries) + 1)  # the last one is for runs before their first entry
        causes = self._causes_of_entries
        later = self._causes.along(at, at + work[ports])
        edge = 0
        # Which edge raised an anchor is found for those who ask: most want to know how long it takes alone.
        for entry, (mine, until, floor) in enumerate(
            zip(self._run_of_entry, self._until, floors.tolist(), strict=True)
        ):
            anchor = anchors[mine]
            if floor > anchor:  # noqa: PLR1730  (a call takes twice as long)
                anchor = floor
            while edge < until:
                arrival = entry_anchor[causes[edge]] + later[edge]
                if arrival > anchor:  # noqa: PLR1730
                    anchor = arrival
                edge += 1
            anchors[mine] = entry_anchor[entry] = anchor
        known = np.array(entry_anchor, dtype=np.int64)

        def starts(which: Ints | slice = slice(None)) -> Ints:
            found: Ints = known[self._entry_before[which]] + total[which] - origin[self._run[which]]
            return found

        def walk() -> Flags:
            # The first segment that completes last: it need not be the last of its run.
            counted, last = self._counting(counts)
            of_runs = last[starts(last) + work[last] == latest_end]
            begins = np.searchsorted(counted, self._firsts[self._run[of_runs]])
            ranges = zip(begins.tolist(), np.searchsorted(counted, of_runs, "right").tolist(), strict=True)
            latest = np.concatenate([counted[begin:end] for begin, end in ranges])
            sink = int(latest[(starts(latest) + work[latest]).argmax()])
            return self._walk(sink, *self._raised(known, floors, later))

        last = self._counting(counts)[1]
        latest_end = int((starts(last) + work[last]).max())
        return Outcome(latest_end, starts, walk)

    def _counting(self, counts: Flags) -> tuple[Ints, Ints]:
        """Find the segments that count, and the last of each run among them.

        This one completes last in its run, since no work is negative.
        """
        if self._counted is None or self._counted[0] is not counts:
            counted = np.flatnonzero(counts)
            run = self._run[counted]
            last = counted[np.append(run[1:] != run[:-1], True)[: len(run)]]
            self._counted = counts, (counted, last)
        return self._counted[1]

    def _raised(self, known: Ints, floors: Ints, later: list[int]) -> tuple[Ints, Ints]:
        """Find which edge raised the anchor at each entry, and which entry of its run did so last until then.

        Of several edges that raise it as far it is the first; -1 stands for none. `known`, `floors`: what is
        known of each entry's anchor, and below what a fixed time does not let it be, ns.
        """
        entries, run = np.arange(len(self._entries)), self._run[self._entries]
        in_run = np.argsort(run, kind="stable")
        is_first = np.append(True, run[in_run][1:] != run[in_run][:-1])[: len(entries)]
        before = np.empty(len(entries), dtype=np.int64)
        before[in_run] = np.where(is_first, self.window.start, np.roll(known[in_run], 1))
        raises = known[:-1] > np.maximum(before, floors)
        counts = self._causes.counts[self._entry_ports]
        entry_of = np.repeat(entries, counts)
        arrival = known[np.array(self._causes_of_entries, dtype=np.int64)] + np.array(later, dtype=np.int64)
        edges = np.flatnonzero(raises[entry_of] & (arrival == known[entry_of]))
        chosen = np.full(len(entries), -1, dtype=np.int64)
        chosen[entry_of[edges][::-1]] = edges[::-1]  # the first one is written last
        place = np.maximum.accumulate(np.where(raises[in_run] | is_first, np.arange(len(entries)), 0))
        raised_by = np.empty(len(entries), dtype=np.int64)
        raised_by[in_run] = np.where(raises[in_run][place], in_run[place], -1)
        return chosen, raised_by

    def _walk(self, sink: int, chosen: Ints, raised_by: Ints) -> Flags:
        """Mark the segments from each entry of a run up to where the path leaves it."""
        marks = np.zeros(len(self.segments) + 1, dtype=np.int64)
        at = sink
        while True:
            last = int(self._entry_before[at])
            entry = int(raised_by[last]) if last >= 0 else -1
            begin = int(self._entries[entry]) if entry >= 0 else int(self._firsts[self._run[at]])
            marks[begin] += 1
            marks[at + 1] -= 1
            if entry < 0:
                on_path: Flags = np.cumsum(marks)[:-1] > 0
                return on_path
            at = int(self._ports[self._causes.others[chosen[entry]]])

    @cached_property
    def _run_of_entry(self) -> list[int]:
        run: list[int] = self._run[self._entries].tolist()
        return run

    @cached_property
    def _until(self) -> list[int]:
        """Where the edges to each entry end; those to the next one begin there."""
        ends: list[int] = self._causes.until[self._entry_ports].tolist()
        return ends

    @cached_property
    def _causes_of_entries(self) -> list[int]:
        """The entry that the cause of each edge to an entry starts after, -1 for none."""
        before: list[int] = self._entry_before[self._ports[self._causes.others]].tolist()
        return before

    @cached_property
    def _entry_before(self) -> Ints:
        return self._nearest(self._entries, following=False)

    def _nearest(self, marked: Ints, *, following: bool) -> Ints:
        """Find the nearest `marked` segment of the same run at or before (or after) each one, -1 for none."""
        place = np.full(len(self.segments), -1, dtype=np.int64)
        place[marked] = np.arange(len(marked))
        index = np.arange(len(place))
        if following:
            index = np.minimum.accumulate(np.where(place >= 0, index, len(place))[::-1])[::-1]
        else:
            index = np.maximum.accumulate(np.where(place >= 0, index, -1))
        there = (index >= 0) & (index < len(place))
        index = np.where(there, index, 0)
        return np.where(there & (self._run[index] == self._run), place[index], -1)

    def _spread(self, port_anchor: list[int], base: Ints, nearest: Ints) -> Ints:
        """Give every segment the anchor of its nearest port, or of its run if there is none."""
        known = np.array([*port_anchor, 0], dtype=np.int64)
        anchors: Ints = np.where(nearest >= 0, known[nearest], base[self._run])
        return anchors


class _Edges:
    """Edges between ports, grouped by one of their ends."""

    def __init__(self, key: Ints, other: Ints, lag: Ints, ports: int) -> None:
        order = np.argsort(key, kind="stable")
        self.counts: Ints = np.bincount(key, minlength=ports)
        self._first = np.append(0, np.cumsum(self.counts))
        self._key, self.others, self._lag = key[order], other[order], lag[order]

    @property
    def until(self) -> Ints:
        """Where each port's edges end; those of the next one begin there."""
        return self._first[1:]

    def along(self, at: Ints, done: Ints) -> list[int]:
        """Calculate by how many ns each effect is anchored after its cause.

        `at`, `done`: start and completion of each port, counted from its anchor.
        """
        later: list[int] = (done[self.others] + self._lag - at[self._key]).tolist()
        return later

    def lists(self) -> tuple[list[int], list[int], list[int]]:
        """List where each port's edges begin, the port at their other end, and their lag."""
        return self._first.tolist(), self.others.tolist(), self._lag.tolist()
