"""Times in which a GPU was another process's: equal pauses with work waiting, one like the other."""

import numpy as np

from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.intervals import Spans, ended_before

_SHORTEST_NS = 200_000
_LEAST_PAUSES = 5
_SPREAD = 0.05
_ALIKE = 0.1


def find_time_slices(events: Events, launches: Launches) -> Spans:
    """Pauses of whole devices, over 200 µs long, that all last the same although launched work was waiting.

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
        ended = ended_before(events.end[mine], 0)[1:]
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
