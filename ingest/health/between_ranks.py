"""Who waited for whom in the operations of a job, from what was found on each rank alone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.health.rank_health import RankHealth
from tracegraph.ingest.intervals import covered, ungrouped, union_length, without_overlaps
from tracegraph.ingest.ranks.clocks import RankClock, align_ranks
from tracegraph.ingest.ranks.matching import Operation, match, shared

Stretch = tuple[int, int]


@dataclass(frozen=True)
class Waits:
    """The waits of ranks for others in which they computed nothing, ns.

    Attributes
    ----------
    operations
        How many operations of several ranks could be compared.
    caused
        By rank, for each of the others that met it, how long that one waited for it.
    waited
        By rank, how long it waited for any other.
    """

    operations: int
    caused: Mapping[int, Mapping[int, int]]
    waited: Mapping[int, int]

    @property
    def late(self) -> tuple[int, float] | None:
        """The rank for which the others wait most, and how long in the mean, ns; None if none waits."""
        means = {rank: sum(by.values()) / len(by) for rank, by in self.caused.items() if by}
        rank = max(means, key=means.__getitem__, default=None)
        return None if rank is None or not means[rank] else (rank, means[rank])


def find_waits(ranks: Mapping[int, RankHealth]) -> Waits:
    """Match the operations, align the clocks by their ends, and find who came last to each.

    An operation that a rank left before another came, by these clocks, is left out, as in the graph of a job.
    """
    matched, _ = match({rank: one.members for rank, one in ranks.items()})
    together = list(shared(matched))
    clocks = align_ranks(sorted(ranks), together)
    stretches: dict[int, dict[int, list[Stretch]]] = defaultdict(lambda: defaultdict(list))
    met: dict[int, set[int]] = defaultdict(set)
    count = 0
    for operation in together:
        arrivals, leaving = _times(operation, clocks)
        last = max(arrivals, key=lambda rank: (arrivals[rank], rank))
        if arrivals[last] > leaving:
            continue
        count += 1
        for rank, member in operation.members.items():
            met[rank].update(set(operation.members) - {rank})
            wait = arrivals[last] - arrivals[rank]
            if wait > 0:
                stretches[rank][last].append((member.start, member.start + wait))
    exposed = {
        rank: {last: _exposed(ranks[rank], found) for last, found in by.items()}
        for rank, by in stretches.items()
    }
    waited = {rank: _exposed(ranks[rank], _all(by.values())) for rank, by in stretches.items()}
    caused = {
        rank: {other: exposed.get(other, {}).get(rank, 0) for other in others} for rank, others in met.items()
    }
    return Waits(count, caused, waited)


def _times(operation: Operation, clocks: Mapping[int, RankClock]) -> tuple[dict[int, int], int]:
    """Return when each member came, and when the first of them left, on the clock of the first rank, ns."""
    moved = {
        rank: clocks[rank].put_right(np.array([one.start, one.end], dtype=np.int64)).tolist()
        for rank, one in operation.members.items()
    }
    return {rank: start for rank, (start, _) in moved.items()}, min(end for _, end in moved.values())


def _all(found: Iterable[list[Stretch]]) -> list[Stretch]:
    return [stretch for one in found for stretch in one]


def _exposed(rank: RankHealth, found: list[Stretch]) -> int:
    """Sum up the stretches, overlaps once, without those in which the GPUs of the rank compute."""
    start, end = without_overlaps(*np.array(found, dtype=np.int64).T)
    return union_length(start, end) - int(covered(ungrouped(start, end), rank.computing).sum())
