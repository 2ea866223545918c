"""Steps: their windows, and the step each event belongs to."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.launches.launches import Launches


@dataclass(frozen=True)
class Steps:
    """Steps by rank and time; times in ns.

    Attributes
    ----------
    event
        The index of the annotation that marks each step.
    window_end
        The later of the step's end and the end of the GPU work launched in it.
    of_event
        For each event the number of the step of its rank in which it runs (GPU work: was launched), `NONE`
        outside of all steps.
    """

    rank: Ints
    number: Ints
    event: Ints
    lane: Ints
    start: Ints
    end: Ints
    window_end: Ints
    of_event: Ints

    @property
    def cuts(self) -> tuple[Ints, Ints]:
        """Lanes and times at which the steps begin and end."""
        return np.tile(self.lane, 2), np.concatenate([self.start, self.end])


def issue_times(events: Events, launches: Launches) -> Ints:
    """Find when a thread issued each event, ns: GPU work at the start of its call, `NONE` without one.

    In a file without threads all work counts as issued when it starts.
    """
    if not events.on_thread.any():
        return events.start
    issued = np.where(launches.call >= 0, events.start[launches.call], events.start)
    return np.where(events.is_gpu & (launches.call < 0), NONE, issued)


def find_steps(events: Events, launches: Launches) -> Steps:
    """Find the steps by the events that mark them; of several of a rank with one number the first counts."""
    numbers = events.step_number
    found = np.flatnonzero(numbers != NONE)
    found = found[np.lexsort((events.start[found], events.rank[found]))]
    keys = np.stack([events.rank[found], numbers[found]])
    found = found[np.sort(np.unique(keys, axis=1, return_index=True)[1])]
    issued = issue_times(events, launches)
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
        event=found,
        lane=events.lane[found],
        start=events.start[found],
        end=events.end[found],
        window_end=window_end,
        of_event=of_event,
    )


def step_at(steps: Steps, rank: int, times: Ints) -> Ints:
    """Find the number of the step of a rank in which each moment lies, `NONE` outside of all.

    Parameters
    ----------
    times
        Moments, ns.
    """
    own = np.flatnonzero(steps.rank == rank)
    step = np.searchsorted(steps.start[own], times, "right") - 1
    inside = (step >= 0) & (times < np.append(steps.end[own], NONE)[step])
    return np.where(inside, np.append(steps.number[own], NONE)[step], NONE)
