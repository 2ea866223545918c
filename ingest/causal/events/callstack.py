"""Nesting of the events of each thread: call tree, self time, and the innermost event at any time."""

from dataclasses import dataclass, field

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.events.lane_times import Keys

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class CallStack:
    """Call tree and flattened timeline of all threads of a run.

    Attributes
    ----------
    parent
        For each event the index of the innermost event that contains it, -1 for none.
    piece_lane, piece_start, piece_end, piece_event
        Stretches with one innermost open event, by lane and time, without holes between the first and the
        last event of a lane. `piece_event` is -1 where no event is open. Zero-length events have no piece.
    overruns, first_overrun
        The number of events that end after the event they start in, and the first of them, else -1.
    outliving, outlived
        Of one file, pairs of an event and an event that it starts in and ends after.
    """

    parent: Ints
    piece_lane: Ints
    piece_start: Ints
    piece_end: Ints
    piece_event: Ints
    overruns: int
    first_overrun: int
    outliving: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    outlived: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def self_time(self, events: Events) -> Ints:
        """Sum up the time in ns in which each event is the innermost one.

        Events off the threads are not nested: for them it is their duration.
        """
        named = self.piece_event >= 0
        total = np.zeros(len(events), dtype=np.int64)
        np.add.at(total, self.piece_event[named], (self.piece_end - self.piece_start)[named])
        return np.where(events.on_thread, total, events.end - events.start)

    def top_level(self, events: Events) -> Flags:
        """Tell which events run on a thread and inside no other event."""
        return events.on_thread & (self.parent < 0)


class _Openings:
    """Finds which event of a thread is innermost after some events have opened and some have closed.

    `opens`, `closes`: keys of (lane, time), in the order in which the events open. An open event closes after
    all that open later. Empty events are never open.
    """

    def __init__(self, opens: Ints, closes: Ints) -> None:
        lasting = closes > opens
        self._opened: Ints = np.append(0, np.cumsum(lasting))
        self._closes = np.sort(closes[lasting])
        self._place = np.flatnonzero(lasting)
        self._stride = len(opens) + 1
        depth = np.arange(len(self._place)) - self._closed(opens[self._place])
        # Events of one depth stay in the order in which they open: the last that has opened is the open one.
        # numpy's stable sort is a radix sort for integers of 16 bits, which hold all but absurd depths.
        order = np.argsort(
            depth.astype(np.int16 if depth.max(initial=0) < 1 << 15 else np.int64), kind="stable"
        )
        self._keys = depth[order] * self._stride + self._place[order]
        self._place = self._place[order]

    def _closed(self, moments: Ints) -> Ints:
        return np.searchsorted(self._closes, moments, "right")

    def innermost(self, opened: Ints, moments: Ints) -> Ints:
        """Find the place of the innermost event at `moments`, when `opened` have begun; -1 for none."""
        depth = self._opened[opened] - self._closed(moments)
        found = np.searchsorted(self._keys, (depth - 1) * self._stride + opened, "left") - 1
        return np.where(depth > 0, np.append(self._place, -1)[found], -1)


def nest(events: Events) -> CallStack:
    """Nest the events of every thread by time.

    Of events that start together the longer one opens first, then the earlier one in the file. An event that
    outlives the event it starts in stays open: while several are open, the youngest counts.
    """
    chosen = np.flatnonzero(events.on_thread)
    order = chosen[np.lexsort((-events.end[chosen], events.start[chosen], events.lane[chosen]))]
    lane, start, end = events.lane[order], events.start[order], events.end[order]
    first = int(start.min()) if len(start) else 0
    keys = Keys(first, int(end.max(initial=first)), int(lane.max(initial=0)) + 1)
    opens, closes = keys.of(lane, start), keys.of(lane, end)
    overrunning = np.empty(0, dtype=np.int64)
    openings = _Openings(opens, closes)
    inside = openings.innermost(np.arange(len(order)), opens)
    outlives = (inside >= 0) & (closes > np.append(closes, 0)[inside])
    within = outlives & (np.append(closes, 0)[inside] > opens)
    outlived = order[inside[within]], order[within]
    if outlives.any():
        closes, overrunning = _cut_outlived(opens, closes)
        openings = _Openings(opens, closes)
        inside = openings.innermost(np.arange(len(order)), opens)
    parent = np.full(len(events), -1, dtype=np.int64)
    event = np.append(order, -1)
    parent[order] = event[inside]
    bounds = _distinct(np.concatenate([opens, closes]))
    innermost = event[openings.innermost(np.searchsorted(opens, bounds, "right"), bounds)]
    piece_lane, time = keys.lane(bounds), keys.time(bounds)
    goes_on = np.flatnonzero(piece_lane[1:] == piece_lane[:-1])
    return CallStack(
        parent=parent,
        piece_lane=piece_lane[goes_on],
        piece_start=time[goes_on],
        piece_end=time[goes_on + 1],
        piece_event=innermost[goes_on],
        overruns=len(overrunning),
        first_overrun=int(event[overrunning[0]]) if len(overrunning) else -1,
        outlived=outlived[0],
        outliving=outlived[1],
    )


def _distinct(keys: Ints) -> Ints:
    keys = np.sort(keys, kind="stable")
    distinct: Ints = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
    return distinct


def _cut_outlived(opens: Ints, closes: Ints) -> tuple[Ints, Ints]:
    """Close each event where another opens in it that closes later; also find the places of the latter.

    An event that ends before a younger one is never the innermost again.
    """
    spanning = np.flatnonzero(opens[1:] < closes[:-1])  # nothing opens in the others
    longer = _next_longer(closes, spanning)
    cut = np.append(opens, _NEVER)[longer] < closes[spanning]
    closes = closes.copy()
    closes[spanning[cut]] = opens[longer[cut]]
    return closes, np.unique(longer[cut])


def _next_longer(closes: Ints, places: Ints) -> Ints:
    """Find for each of the places the next one that closes later; the number of all where there is none."""
    size = 1 << len(closes).bit_length()
    latest = [np.append(closes, np.full(size - len(closes), _NEVER))]  # in blocks of 1, 2, 4 … places
    while len(latest[-1]) > 1:
        latest.append(np.maximum(latest[-1][::2], latest[-1][1::2]))
    found, ends = places + 1, closes[places]
    height = np.full(len(places), -1)  # of the block in which it is, once that is known
    for power, closing in enumerate(latest):
        tried = (height < 0) & (found >> power & 1 > 0)
        inside = tried & (closing[found >> power] > ends)
        height[inside] = power
        found += (tried & ~inside).astype(np.int64) << power
    for power in range(len(latest) - 1, -1, -1):
        passed = (height > power) & (latest[power][found >> power] <= ends)
        found += passed.astype(np.int64) << power
    return found
