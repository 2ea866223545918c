"""What threads were handed by others: to the autograd engine, through queues, by a call to its worker."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tracegraph.ingest.arrays import Ints, Terms
from tracegraph.ingest.causal.graph.segments import WAIT
from tracegraph.vocabulary.mechanisms import AUTOGRAD_HAND_OFF, AUTOGRAD_JOIN, CODE, HAND_OVER, RESUME

if TYPE_CHECKING:
    from tracegraph.ingest.what_if.graph.graph import ReplayGraph

_HANDS_OVER = tuple(CODE[name] for name in (AUTOGRAD_HAND_OFF, HAND_OVER))
_RETURNS = tuple(CODE[name] for name in (AUTOGRAD_JOIN, RESUME))


@dataclass(frozen=True)
class HandedOver:
    """Work that threads were handed by others.

    Attributes
    ----------
    mechanism
        The rule by which each hand-over was found.
    giver
        The segment that ends with it.
    after
        The segment that follows on the giver's thread, `giver` itself if there is none.
    of_segment
        For each segment of the graph the hand-over to which it belongs, GPU work to that of its call; -1 for
        none.
    """

    mechanism: Terms
    giver: Ints
    after: Ints
    of_segment: Ints

    def __len__(self) -> int:
        return len(self.giver)

    def spread(self, values: Ints) -> Ints:
        """Fill in values of the segments, -1 for none, with the value of the giver of what they belong to."""
        found = values.copy()
        left = np.flatnonzero((self.of_segment >= 0) & (found < 0))
        while len(left):
            before, after = found[self.giver], found[self.after]
            given = np.where(before >= 0, before, after)[self.of_segment[left]]
            found[left] = given
            # Work that was handed over may hand over work itself.
            if not (given >= 0).any():
                break
            left = left[given < 0]
        return found


def find_handed_over(graph: "ReplayGraph") -> HandedOver:
    """Find what the graph's dependencies say was handed over from one thread to another.

    A hand-over begins where the thread takes it up. It lasts to the last moment at which another thread waits
    for it before the next is taken up. If none waits, it lasts until the thread waits outside of all events
    or takes up the next.
    """
    segments, found = graph.segments, graph.dependencies
    hands = np.flatnonzero(np.isin(found.mechanism, _HANDS_OVER) & segments.on_thread[found.cause])
    hands = hands[np.lexsort((found.cause[hands], found.binding[hands], found.effect[hands]))]
    begin = found.effect[hands]
    last = np.append(begin[1:] != begin[:-1], True)[: len(begin)]
    hands, begin = hands[last], begin[last]
    giver = found.cause[hands]
    lane = segments.lane
    until = np.minimum(
        np.append(begin[1:], len(lane))[: len(begin)], np.searchsorted(lane, lane[begin], "right")
    )
    end = _ends(graph, begin, until)
    of_segment = np.full(len(lane), -1, dtype=np.int64)
    taken = np.searchsorted(begin, np.arange(len(lane)), "right") - 1
    inside = segments.on_thread & (taken >= 0)
    inside[inside] = np.flatnonzero(inside) < end[taken[inside]]
    of_segment[inside] = taken[inside]
    launching = graph.launching
    launched = launching >= 0
    of_segment[launched] = of_segment[launching[launched]]
    after = np.minimum(giver + 1, len(lane) - 1)
    return HandedOver(
        found.mechanism[hands], giver, np.where(lane[after] == lane[giver], after, giver), of_segment
    )


def _ends(graph: "ReplayGraph", begin: Ints, until: Ints) -> Ints:
    """Find where each stretch of segments ends that a hand-over begins, at the latest at `until`."""
    segments, found, frames = graph.segments, graph.dependencies, graph.frames
    back = np.unique(found.cause[np.isin(found.mechanism, _RETURNS)])
    back = back[segments.on_thread[back]]
    returned = np.append(-1, back)[np.searchsorted(back, until, "left")]
    outermost = frames.depth[frames.of_segment] == 1
    idle = np.flatnonzero(segments.on_thread & (segments.kind == WAIT) & outermost)
    pause = np.append(idle, len(segments))[np.searchsorted(idle, begin, "right")]
    return np.where(returned >= begin, returned + 1, np.minimum(pause, until))
