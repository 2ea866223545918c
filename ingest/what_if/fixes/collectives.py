"""Collectives whose size a file tells, and which of them could be one."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.what_if.changes.edit import FOR_OTHERS
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.launched import asked_at
from tracegraph.ingest.what_if.graph.transfers import of_collectives, transferring


@dataclass(frozen=True)
class Collectives:
    """Collectives by lane and time, one entry each.

    `event`; `size`: elements that each rank gives; `work`: ns of its transfer; `last`: its last segment.
    `group`: which become one, `becomes`: whether it is the one that the others of its group become.
    """

    event: Ints
    size: Ints
    work: Ints
    last: Ints
    group: Ints

    def __len__(self) -> int:
        return len(self.event)

    @property
    def becomes(self) -> Flags:
        """The last of each group, as it can start only when all is there."""
        found: Flags = np.append(self.group[1:] != self.group[:-1], True)[: len(self)]
        return found


def find_collectives(graph: ReplayGraph, chosen: Flags) -> Collectives:
    """Chosen collectives whose size the file tells, by what they could be sent together with.

    That are those of one name, lane and phase (else step), as long as nobody waits for one before the next
    begins.
    """
    segments, calls = graph.segments, graph.calls
    assert graph.facts is not None  # who asks for sizes has them
    size = graph.facts().elements
    mine = chosen & of_collectives(graph) & np.append((size != NONE) & (size > 0), False)[segments.event]
    backwards = np.flatnonzero(mine)[::-1]
    event, place = np.unique(segments.event[backwards], return_index=True)
    in_order = np.argsort(backwards[place])
    event, last = event[in_order], backwards[place[in_order]]
    works = mine & transferring(graph)
    spent = np.bincount(segments.event[works], segments.work[works], len(calls)).astype(np.int64)
    keys = np.stack([calls.lane[event], calls.name.codes[event], _pass_of(graph, event)])
    apart = (keys[:, 1:] != keys[:, :-1]).any(axis=0) | _awaited_before(graph, event, last)
    group = np.cumsum(np.append(False, apart)[: len(event)])
    return Collectives(event, size[event], spent[event], last, group)


def _pass_of(graph: ReplayGraph, event: Ints) -> Ints:
    """The phase that began last before each collective was asked for, else its step."""
    calls, phases = graph.calls, graph.phases
    asked = asked_at(graph, event)
    rank, found = graph.lanes.rank[calls.lane[event]], calls.step[event].copy()
    for one in np.unique(rank).tolist():
        mine, place = rank == one, np.flatnonzero(phases.rank == one)
        place = place[np.argsort(phases.start[place], kind="stable")]
        if len(place):
            begun = np.searchsorted(phases.start[place], asked[mine], "right") - 1
            found[mine] = np.where(begun >= 0, place[begun], -1)
    return found


def _awaited_before(graph: ReplayGraph, event: Ints, last: Ints) -> Flags:
    """For each collective but the last whether somebody waits for it before the next one begins."""
    segments, found = graph.segments, graph.dependencies
    awaited = np.full(len(segments), np.iinfo(np.int64).max)
    waits = FOR_OTHERS[found.mechanism] & found.binding
    waits &= segments.event[found.effect] != segments.event[found.cause]
    np.minimum.at(awaited, found.cause[waits], segments.start[found.effect[waits]])
    before: Flags = awaited[last[:-1]] < graph.calls.start[event[1:]]
    return before
