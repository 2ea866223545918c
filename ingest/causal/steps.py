"""Steps: their windows, and the step each event belongs to."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events import NONE, Events, step_numbers
from tracegraph.ingest.causal.launches import Launches


@dataclass(frozen=True)
class Steps:
    """ProfilerSteps in time order; times in ns.

    `window_end`: the later of the annotation's end and the end of the GPU work launched in it. `of_event`:
    number of the step that each event runs in (GPU work: was launched in), `NONE` outside of all steps.
    """

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
    """Find the steps by their annotations; of two with one number the first counts."""
    numbers = step_numbers(events)
    found = np.flatnonzero(numbers != NONE)
    found = found[np.argsort(events.start[found], kind="stable")]
    found = found[np.sort(np.unique(numbers[found], return_index=True)[1])]
    start, end = events.start[found], events.end[found]
    issued = np.where(launches.call >= 0, events.start[launches.call], events.start)
    issued = np.where(events.is_gpu & (launches.call < 0), NONE, issued)
    step = np.searchsorted(start, issued, "right") - 1
    inside = (step >= 0) & (issued < end[step]) if len(found) else np.zeros(len(events), dtype=bool)
    window_end = end.copy()
    on_gpu = inside & events.is_gpu
    np.maximum.at(window_end, step[on_gpu], events.end[on_gpu])
    of_event = np.where(inside, numbers[found][np.maximum(step, 0)], NONE) if len(found) else numbers
    return Steps(numbers[found], events.lane[found], start, end, window_end, of_event)
