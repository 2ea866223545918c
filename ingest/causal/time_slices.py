"""Times in which a GPU was another process's: equal pauses with work waiting, one like the other."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.array_tables import select_rows
from tracegraph.ingest.causal.events import Events
from tracegraph.ingest.causal.launches import Launches

_SHORTEST_NS = 200_000
_LEAST_PAUSES = 5
_SPREAD = 0.05
_ALIKE = 0.1


@dataclass(frozen=True)
class Spans:
    """Stretches of time on devices, ns."""

    device: Ints
    start: Ints
    end: Ints


def find_time_slices(events: Events, launches: Launches) -> Spans:
    """Pauses of a whole device, over 200 µs long, that all last the same although launched work was waiting.

    A GPU that several processes share without MPS runs them in turns of fixed length, so that each sees the
    others' turns as pauses of one length. Needed are five pauses that end in work launched 200 µs before,
    half of them within 5 % of their median; those within 10 % of it count.
    """
    nothing = np.empty(0, dtype=np.int64)
    found = [(nothing, nothing, nothing)]
    work = np.flatnonzero(events.is_gpu)
    for device in np.unique(events.device[work]).tolist():
        mine = work[events.device[work] == device]
        mine = mine[np.argsort(events.start[mine], kind="stable")]
        ended = np.maximum.accumulate(events.end[mine])[:-1]
        after, pause = mine[1:], events.start[mine[1:]] - ended
        call = launches.call[after]
        waited = (call >= 0) & (events.start[after] - events.end[call] > _SHORTEST_NS)
        chosen = waited & (pause > _SHORTEST_NS)
        if chosen.sum() < _LEAST_PAUSES:
            continue
        low, median, high = np.quantile(pause[chosen], [0.25, 0.5, 0.75])
        if high - low <= _SPREAD * median:
            alike = chosen & (np.abs(pause - median) <= _ALIKE * median)
            found.append((np.full(int(alike.sum()), device), ended[alike], events.start[after[alike]]))
    return Spans(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def covered(gaps: Spans, spans: Spans) -> Ints:
    """ns of each gap that spans on its device cover, overlapping ones counted once."""
    total = np.zeros(len(gaps.device), dtype=np.int64)
    for device in np.unique(gaps.device).tolist():
        there = select_rows(spans, spans.device == device)
        if not len(there.start):
            continue
        there = select_rows(there, np.argsort(there.start, kind="stable"))
        end = np.maximum.accumulate(there.end)
        # Only what lies beyond all earlier ends adds to the union.
        start = np.maximum(there.start, np.append(there.start[:1], end[:-1]))
        length = np.maximum(end - start, 0)
        done = np.append(0, np.cumsum(length))

        chosen = gaps.device == device
        for sign, moment in ((1, gaps.end[chosen]), (-1, gaps.start[chosen])):
            last = np.searchsorted(start, moment, "right") - 1
            inside = np.clip(moment - start[last], 0, length[last])
            total[chosen] += sign * np.where(last >= 0, done[last] + inside, 0)
    return total
