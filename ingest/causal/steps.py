"""Steps: their windows, and the step each event belongs to."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events import NONE, Events, step_numbers
from tracegraph.ingest.causal.launches import Launches


@dataclass(frozen=True)
class Steps:
    """ProfilerSteps by rank and time; times in ns.

    `window_end`: the later of the annotation's end and the end of the GPU work launched in it. `of_event`:
    number of the step of its rank that each event runs in (GPU work: was launched in), `NONE` outside of all.
    """

    rank: Ints
    number: Ints
    lane: Ints
    start: Ints
    end: Ints
    window_end: Ints
    of_event: Ints

    @property
    def cuts(self) -> tuple[Ints, Ints]:
        """Lanes and times at which the steps begin and end."""
        return np.tile(self.lane, 2), np.concatenate([self.start, self.end])


def find_steps(events: Events, launches: Launches) -> Steps:
    """Find the steps by their annotations; of two of a rank with one number the first counts."""
    numbers = step_numbers(events)
    found = np.flatnonzero(numbers != NONE)
    found = found[np.lexsort((events.start[found], events.rank[found]))]
    keys = np.stack([events.rank[found], numbers[found]])
    found = found[np.sort(np.unique(keys, axis=1, return_index=True)[1])]
    issued = np.where(launches.call >= 0, events.start[launches.call], events.start)
    issued = np.where(events.is_gpu & (launches.call < 0), NONE, issued)
    window_end, of_event = events.end[found], np.full(len(events), NONE, dtype=np.int64)
    for rank in np.unique(events.rank[found]).tolist():
        first, last = np.searchsorted(events.rank[found], [rank, rank + 1])
        own = found[first:last]
        step = np.searchsorted(events.start[own], issued, "right") - 1
        inside = (step >= 0) & (issued < events.end[own][step]) & (events.rank == rank)
        of_event[inside] = numbers[own][step[inside]]
        on_gpu = inside & events.is_gpu
        np.maximum.at(window_end, first + step[on_gpu], events.end[on_gpu])
    return Steps(
        rank=events.rank[found],
        number=numbers[found],
        lane=events.lane[found],
        start=events.start[found],
        end=events.end[found],
        window_end=window_end,
        of_event=of_event,
    )
