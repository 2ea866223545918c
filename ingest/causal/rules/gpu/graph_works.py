"""Graph launches: calls that launched several works, distinguished by what they launched."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.launches.launches import Launches


@dataclass(frozen=True)
class Graphs:
    """Works of calls that launched several, by (call, lane, start, end).

    Attributes
    ----------
    work, launch
        The event index of each work, and the number of its launch.
    first
        Where each launch begins among the works, and one more entry at the end.
    kind
        A number for each launch, the same for launches whose works have the same names on the same lanes.
    call
        The call of each launch.
    """

    work: Ints
    launch: Ints
    first: Ints
    kind: Ints
    call: Ints

    def among(self, events: Events) -> Flags:
        """Tell which events are works of a graph."""
        flags = np.zeros(len(events), dtype=bool)
        flags[self.work] = True
        return flags


def find_graphs(events: Events, launches: Launches) -> Graphs:
    """Group the works that share a call."""
    work = np.flatnonzero(launches.call >= 0)
    several = np.bincount(launches.call[work], minlength=len(events)) > 1
    work = work[several[launches.call[work]]]
    call = launches.call[work]
    order = np.lexsort((events.end[work], events.start[work], events.lane[work], call))
    work, call = work[order], call[order]
    begins = np.append(True, call[1:] != call[:-1])[: len(call)]
    launch = np.cumsum(begins) - 1
    first = np.append(np.flatnonzero(begins), len(work))
    shape = np.stack([events.lane[work], events.name.codes[work].astype(np.int64)], axis=1)
    texts = [shape[low:high].tobytes() for low, high in pairwise(first)]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    kind = np.array([numbers[text] for text in texts], dtype=np.int64)
    return Graphs(work, launch, first, kind, call[first[:-1]])
