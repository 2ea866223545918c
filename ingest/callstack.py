"""Nesting of the events of each thread: call tree, self time, and the innermost open event at any time."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.events import Events, Flags, Ints


@dataclass(frozen=True)
class CallStack:
    """Call tree and flattened timeline of all threads of a rank.

    `parent`: for each event the index of the innermost event that contains it, -1 for none.
    `piece_*`: stretches with one innermost open event, by lane and time, without holes between the first and
    the last event of a lane; `piece_event` is -1 where no event is open. Zero-length events have no piece.
    `overruns`: number of events that end after the event they start in; `first_overrun`: the first, else -1.
    """

    parent: Ints
    piece_lane: Ints
    piece_start: Ints
    piece_end: Ints
    piece_event: Ints
    overruns: int
    first_overrun: int

    def self_time(self, events: Events) -> Ints:
        """ns in which each event is the innermost one; the duration for events off the threads."""
        named = self.piece_event >= 0
        total = np.zeros(len(events), dtype=np.int64)
        np.add.at(total, self.piece_event[named], (self.piece_end - self.piece_start)[named])
        return np.where(events.on_thread, total, events.end - events.start)

    def top_level(self, events: Events) -> Flags:
        """Whether each event runs on a thread and inside no other event."""
        return events.on_thread & (self.parent < 0)


class _Builder:
    """Collects pieces and parents over the lanes."""

    def __init__(self, count: int) -> None:
        self.parent = np.full(count, -1, dtype=np.int64)
        self.lane: list[Ints] = []
        self.start: list[int] = []
        self.end: list[int] = []
        self.event: list[int] = []
        self.overruns = 0
        self.first_overrun = -1

    def add_lane(self, lane: int, order: Ints, starts: list[int], ends: list[int]) -> None:
        """Flatten one lane; an event that outlives its parent stays open, the youngest open one counts."""
        before = len(self.start)
        put_start, put_end, put_event = self.start.append, self.end.append, self.event.append
        stack: list[tuple[int, int]] = []
        parents = []
        cursor = starts[0]
        for event, start, end in zip(order.tolist(), starts, ends, strict=True):
            while stack and stack[-1][0] <= start:
                stop, inner = stack.pop()
                if stop > cursor:
                    put_start(cursor), put_end(stop), put_event(inner)
                    cursor = stop
            if start > cursor:
                put_start(cursor), put_end(start), put_event(stack[-1][1] if stack else -1)
                cursor = start
            parent = stack[-1][1] if stack else -1
            if stack and stack[-1][0] < end:
                parent = self._outlived(stack, event, end)
            parents.append(parent)
            if end > start:
                stack.append((end, event))
        while stack:
            stop, inner = stack.pop()
            if stop > cursor:
                put_start(cursor), put_end(stop), put_event(inner)
                cursor = stop
        self.parent[order] = parents
        self.lane.append(np.full(len(self.start) - before, lane, dtype=np.int64))

    def _outlived(self, stack: list[tuple[int, int]], event: int, end: int) -> int:
        self.overruns += 1
        if self.first_overrun < 0:
            self.first_overrun = event
        # What ends before a younger one is never the innermost again.
        while stack and stack[-1][0] < end:
            stack.pop()
        return stack[-1][1] if stack else -1


def nest(events: Events) -> CallStack:
    """Nest the events of every thread by time; longer events open first, then the earlier in the file."""
    chosen = np.flatnonzero(events.on_thread)
    order = chosen[np.lexsort((chosen, -events.end[chosen], events.start[chosen], events.lane[chosen]))]
    builder = _Builder(len(events))
    lanes, first = np.unique(events.lane[order], return_index=True)
    for lane, members in zip(lanes.tolist(), np.split(order, first)[1:], strict=True):
        builder.add_lane(lane, members, events.start[members].tolist(), events.end[members].tolist())
    return CallStack(
        parent=builder.parent,
        piece_lane=np.concatenate(builder.lane) if builder.lane else np.empty(0, dtype=np.int64),
        piece_start=np.array(builder.start, dtype=np.int64),
        piece_end=np.array(builder.end, dtype=np.int64),
        piece_event=np.array(builder.event, dtype=np.int64),
        overruns=builder.overruns,
        first_overrun=builder.first_overrun,
    )
