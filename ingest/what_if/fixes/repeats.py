"""Whether the same work is launched again and again."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.array_tables import count_in_groups
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.what_if.changes.threads import launched
from tracegraph.ingest.what_if.graph.graph import ReplayGraph


@dataclass(frozen=True)
class Repeats:
    """`times`: in how many steps something is launched; in `same` of them the same `launches` works."""

    times: int
    same: int
    launches: int

    @property
    def share(self) -> float:
        """Of the steps how many launch the same; 0 for one step alone."""
        return self.same / self.times if self.times > 1 else 0.0


def step_of(graph: ReplayGraph, segment: Ints) -> Ints:
    """A number for the step and rank of each segment, the same for all outside of steps."""
    segments, calls = graph.segments, graph.calls
    event = segments.event[segment]
    step = np.where(event >= 0, calls.step[event], calls.step.min(initial=0))
    pairs = np.stack([graph.lanes.rank[segments.lane[segment]], step])
    return np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1)


def find_repeats(graph: ReplayGraph, host: Flags, group: Ints | None = None) -> Repeats:
    """How often chosen host segments launch the same works in the same order, on the rank that does it most.

    `group`: for each segment what it is a part of, -1 for nothing; by default its step.
    """
    call, work = launched(graph, by_graphs=False)
    mine = host[call] if group is None else host[call] & (group[call] >= 0)
    call, work = call[mine], work[mine]
    if not len(call):
        return Repeats(0, 0, 0)
    rank = graph.lanes.rank[graph.segments.lane[call]]
    found = [_of_rank(graph, call[rank == one], work[rank == one], group) for one in np.unique(rank)]
    return max(found, key=lambda one: (one.times > 1, one.same))


def _of_rank(graph: ReplayGraph, call: Ints, work: Ints, group: Ints | None) -> Repeats:
    step = step_of(graph, call) if group is None else group[call]
    order = np.lexsort((graph.segments.start[call], step))
    step, name = step[order], graph.calls.name.codes[graph.segments.event[work[order]]].astype(np.uint64)
    begins = np.append(True, step[1:] != step[:-1])
    place = count_in_groups(step)
    # A sum of products of random odd numbers, modulo 2^64, tells sequences apart.
    chance = np.random.default_rng(0)
    of_name = chance.integers(1, 2**63, int(name.max()) + 1, dtype=np.uint64)
    of_place = chance.integers(1, 2**63, int(place.max()) + 1, dtype=np.uint64)
    signature = np.add.reduceat(of_name[name] * of_place[place], np.flatnonzero(begins))
    lengths = np.diff(np.append(np.flatnonzero(begins), len(step)))
    values, counts = np.unique(signature, return_counts=True)
    usual = signature == values[counts.argmax()]
    return Repeats(len(signature), int(counts.max()), int(lengths[usual][0]))
