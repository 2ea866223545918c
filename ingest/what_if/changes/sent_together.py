"""Collectives that could be sent as one: those of a pass, as long as nothing waits for one before another."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.causal.rules.threads.silence import SHORTEST_SILENCE_NS
from tracegraph.ingest.what_if.changes.edit import FOR_OTHERS
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.launch_stretches import asked_at
from tracegraph.ingest.what_if.graph.transfers import of_collectives, transferring
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.mechanisms import CODE, HAND_OVER


@dataclass(frozen=True)
class Collectives:
    """Collectives by stream, or by rank where threads run them, and by time; one entry for each.

    Attributes
    ----------
    size
        Elements that each rank gives.
    work
        Length of its transfer, ns.
    last
        Its last segment.
    group
        A number that the collectives share that become one.
    begun
        When it begins, on a thread when it is handed over, ns.
    """

    event: Ints
    size: Ints
    work: Ints
    last: Ints
    group: Ints
    begun: Ints

    def __len__(self) -> int:
        return len(self.event)

    @property
    def becomes(self) -> Flags:
        """Whether it is the last of its group, which the others become: it starts only when all is there."""
        found: Flags = np.append(self.group[1:] != self.group[:-1], True)[: len(self)]
        return found

    @cached_property
    def whole(self) -> Ints:
        """The position of the one that its group becomes."""
        place: Ints = np.flatnonzero(self.becomes)[np.cumsum(np.append(0, self.becomes[:-1])[: len(self)])]
        return place


def find_collectives(graph: ReplayGraph, chosen: Flags) -> Collectives:
    """Find chosen collectives whose size the file states, grouped by what could be sent together.

    That is collectives of one name, stream and phase (else step), as long as nothing waits for one before the
    next begins. A CPU back end runs them on whichever of its threads is free, so all threads of a rank count
    as one stream there, and the next one begins when it is handed to them.
    """
    segments, calls, lanes = graph.segments, graph.calls, graph.lanes
    assert graph.facts is not None  # who asks for sizes has them
    size = graph.facts().elements
    mine = chosen & of_collectives(graph) & np.append((size != NONE) & (size > 0), False)[segments.event]
    backwards = np.flatnonzero(mine)[::-1]
    event, place = np.unique(segments.event[backwards], return_index=True)
    lane = calls.lane[event]
    stream = np.where(lanes.is_thread[lane], -1 - lanes.rank[lane], lane)
    in_order = np.lexsort((calls.start[event], stream))
    event, last, stream = event[in_order], backwards[place[in_order]], stream[in_order]
    works = mine & transferring(graph)
    spent = np.bincount(segments.event[works], segments.work[works], len(calls)).astype(np.int64)
    keys = np.stack([stream, calls.name.codes[event], _pass_of(graph, event)])
    apart = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(event)]
    begun = _begun(graph, event)
    group = _group(apart, begun, _awaited(graph, last))
    return Collectives(event, size[event], spent[event], last, group, begun)


def _begun(graph: ReplayGraph, event: Ints) -> Ints:
    """Find when each collective begins, ns: on a thread when it is handed over, whatever runs there."""
    segments, found = graph.segments, graph.dependencies
    begun = np.append(graph.calls.start, 0)
    handed = np.flatnonzero((found.mechanism == CODE[HAND_OVER]) & (segments.event[found.effect] >= 0))
    of_event = segments.event[found.effect[handed]]
    np.minimum.at(begun, of_event, segments.completion[found.cause[handed]])
    return begun[event]


def _awaited(graph: ReplayGraph, last: Ints) -> Ints:
    """Find when something first waits for each collective, given by its last segment, ns."""
    segments, found = graph.segments, graph.dependencies
    awaited = np.full(len(segments), np.iinfo(np.int64).max)
    waits = FOR_OTHERS[found.mechanism] & found.binding
    waits &= segments.event[found.effect] != segments.event[found.cause]
    np.minimum.at(awaited, found.cause[waits], segments.start[found.effect[waits]])
    return awaited[last]


def _group(apart: Flags, begun: Ints, awaited: Ints) -> Ints:
    """Begin a new group where it must, and where something waited for one of the last group."""
    group, number, until = [], -1, 0
    for starts, at, end in zip(apart.tolist(), begun.tolist(), awaited.tolist(), strict=True):
        if starts or until < at:
            number, until = number + 1, end
        until = min(until, end)
        group.append(number)
    return np.array(group, dtype=np.int64)


def _pass_of(graph: ReplayGraph, event: Ints) -> Ints:
    """Find the phase that began last before each collective was asked for, else its step."""
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


def may_be_awaited(graph: ReplayGraph, found: Collectives) -> tuple[Ints, Ints]:
    """Find silences that may be waits for a collective, and by position the last one that ended in each.

    The rules take a silence for a wait if it ends as a collective does. A thread that gets no core goes on
    later, and its silence counts as work. These are such: own time of a function or an annotation, on the
    thread that handed the collective over, after the one that its group becomes.
    """
    segments, calls, dependencies = graph.segments, graph.calls, graph.dependencies
    idle = np.append(calls.of_role(Role.FRAME, Role.ANNOTATION), False)[segments.event]
    silent = (segments.kind == WORK) & segments.on_thread & idle
    silent &= segments.end - segments.start >= SHORTEST_SILENCE_NS
    handed = (dependencies.mechanism == CODE[HAND_OVER]) & np.isin(
        segments.event[dependencies.effect], found.event
    )
    giver = segments.lane[dependencies.cause[handed]]
    silent &= np.isin(segments.lane, np.unique(giver))
    ranks, at = graph.lanes.rank, np.flatnonzero(silent)
    ends = calls.end[found.event]
    last = np.full(len(at), -1, dtype=np.int64)
    for rank in np.unique(ranks[giver]).tolist():
        mine = np.flatnonzero(ranks[calls.lane[found.event]] == rank)
        mine = mine[np.argsort(ends[mine], kind="stable")]
        here = np.flatnonzero(ranks[segments.lane[at]] == rank)
        place = np.searchsorted(ends[mine], segments.end[at[here]], "right") - 1
        last[here] = np.where(place >= 0, mine[place], -1)
    inside = (last >= 0) & (ends[last] > segments.start[at])
    inside &= found.begun[found.whole[last]] <= segments.start[at]
    return at[inside], last[inside]
