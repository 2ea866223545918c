"""How long the host's work takes where no thread that sends wants a core, as far as a file shows it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.intervals import Spans, covered
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.transfers import of_events, thread_collectives

_FEWEST_ALONE = 20
"""How many events of one name and shapes must have run alone for their median to count.

Chosen by eye: with fewer the median moves by more than the effect.
"""


def as_if_alone(graph: ReplayGraph, senders: Ints) -> Floats:
    """Compute by what the work of each segment is multiplied if it takes what the same work takes alone.

    `senders`: collectives that run on threads. The same work has the same name and shapes, on any rank; it
    is alone if no collective of its rank runs meanwhile. What takes less beside them than alone stays.
    """
    assert graph.facts is not None  # who asks for collectives has them
    segments, calls, ranks = graph.segments, graph.calls, graph.lanes.rank
    works = (segments.kind == WORK) & segments.on_thread & (segments.event >= 0)
    works &= ~np.isin(segments.lane, np.unique(calls.lane[senders]))
    spent = np.bincount(segments.event[works], segments.work[works], len(calls)).astype(np.int64)
    mine = np.flatnonzero((np.bincount(segments.event[works], minlength=len(calls)) > 0) & (spent > 0))
    sending = Spans(ranks[calls.lane[senders]], calls.start[senders], calls.end[senders])
    beside = covered(Spans(ranks[calls.lane[mine]], calls.start[mine], calls.end[mine]), sending) > 0
    shapes = graph.facts().shapes.codes[mine].astype(np.int64)
    both = calls.name.codes[mine] * (shapes.max(initial=-1) + 2) + shapes
    kind = np.unique(both, return_inverse=True)[1]
    alone = _medians(kind, spent[mine], ~beside)
    factor = np.ones(len(calls) + 1)
    slower = beside & (alone[kind] < spent[mine])
    factor[mine[slower]] = alone[kind[slower]] / spent[mine[slower]]
    return np.where(works, factor[segments.event], 1.0)


@dataclass(frozen=True)
class SharedCores:
    """What the host's work takes if collectives on threads go; found once, and only if somebody asks."""

    graph: ReplayGraph

    @cached_property
    def _sends(self) -> Flags:
        """Which segments are work of collectives on threads."""
        return of_events(self.graph, thread_collectives(self.graph)) & (self.graph.segments.work > 0)

    @cached_property
    def _alone(self) -> Floats:
        return as_if_alone(self.graph, np.unique(self.graph.segments.event[self._sends]))

    def freed(self, factor: Floats) -> Floats | None:
        """Let work also take less as far as threads that send no longer want a core; None if none sends less.

        A file does not say how many cores there are: this is how much less the work may take at most.

        Parameters
        ----------
        factor
            By what the work of each segment is multiplied. Where collectives on threads are left with a share
            of theirs, what ran beside collectives keeps that share of what it takes longer than alone.
        """
        work, sends = self.graph.segments.work, self._sends
        if self.graph.facts is None or not (sends & (factor < 1)).any():
            return None
        left = float((work * factor)[sends].sum() / work[sends].sum())
        return factor * (self._alone + (1 - self._alone) * left)


def _medians(kind: Ints, values: Ints, counts: Flags) -> Floats:
    """Find the median of each kind over those that count; infinite where these are too few."""
    found = np.full(int(kind.max(initial=-1)) + 1, np.inf)
    order = np.lexsort((values[counts], kind[counts]))
    which, some = kind[counts][order], values[counts][order]
    kinds, first, number = np.unique(which, return_index=True, return_counts=True)
    enough = number >= _FEWEST_ALONE
    found[kinds[enough]] = some[first[enough] + number[enough] // 2]
    return found
