"""What each member of an operation waited and transferred, and how much of that nothing else hides."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.meetings import Meetings
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.causal.graph.solved import Storable
from tracegraph.ingest.intervals import Spans, covered, ended_before
from tracegraph.ingest.ranks.kinds import is_communication
from tracegraph.vocabulary.categories import Role


@dataclass(frozen=True)
class MemberTimes:
    """One row a member of `Meetings`, ns; see the properties of `MEMBER_OF` in the schema.

    What overlaps in operations of one rank is exposed once.
    """

    waited: Ints
    waited_once: Ints
    transfer: Ints
    exposed_wait: Ints
    exposed_transfer: Ints


def member_times(model: Storable, meetings: Meetings) -> MemberTimes:
    """The times of all members.

    What hides communication: on a GPU a kernel that computes, for a collective on a thread work of another
    thread of its rank.
    """
    arrival, since = meetings.arrival, np.maximum(meetings.rendezvous[meetings.member_of], meetings.arrival)
    until = np.maximum(meetings.end, since)
    rank = model.events.rank[meetings.event]
    group = rank * 2 + model.events.on_thread[meetings.event]
    computing = _computing(model, meetings)
    waits, transfers = (_once(rank, *stretch) for stretch in ((arrival, since), (since, until)))
    return MemberTimes(
        waited=since - arrival,
        waited_once=waits[1] - waits[0],
        transfer=until - since,
        exposed_wait=waits[1] - waits[0] - covered(Spans(group, *waits), computing),
        exposed_transfer=transfers[1] - transfers[0] - covered(Spans(group, *transfers), computing),
    )


def _once(rank: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Begin and end of each stretch without what earlier ones of its rank cover."""
    order = np.lexsort((start, rank))
    begin = start.copy()
    for one in np.unique(rank).tolist():
        mine = order[rank[order] == one]
        begin[mine] = np.maximum(start[mine], ended_before(end[mine], np.iinfo(np.int64).min))
    return np.minimum(begin, end), end


def _computing(model: Storable, meetings: Meetings) -> Spans:
    """Work that is no communication, by twice the rank for GPUs and one more for threads."""
    events, segments = model.events, model.segments
    kernel = np.flatnonzero(events.of_role(Role.KERNEL) & ~_communicates(model, meetings))
    thread = np.flatnonzero(
        segments.on_thread & (segments.kind == WORK) & ~np.isin(segments.lane, _own_lanes(model, meetings))
    )
    lane_rank = model.lanes.rank
    return Spans(
        np.concatenate([events.rank[kernel] * 2, lane_rank[segments.lane[thread]] * 2 + 1]),
        np.concatenate([events.start[kernel], segments.start[thread]]),
        np.concatenate([events.end[kernel], segments.end[thread]]),
    )


def _communicates(model: Storable, meetings: Meetings) -> Flags:
    events = model.events
    named = np.array([is_communication(str(name)) for name in events.name.values], dtype=bool)
    found: Flags = events.name.matching(named).copy()
    found[meetings.event] = True
    return found


def _own_lanes(model: Storable, meetings: Meetings) -> Ints:
    """The threads that communicate."""
    events = model.events
    lanes: Ints = np.unique(events.lane[meetings.event[events.on_thread[meetings.event]]])
    return lanes
