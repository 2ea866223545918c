"""SYNCHRONIZATION between ranks: the members of a collective arrive, and all go on when the last has.

In segments, each member's arrival has no length. The operation's rendezvous, which has no length either,
stands right behind the arrival of the last member. Until then a member waits, from then on it transfers. With
W members that makes 2 W dependencies instead of W².
"""

from dataclasses import dataclass, replace

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Ints, as_terms
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.graph.dependencies import Candidates
from tracegraph.ingest.causal.graph.meetings import Meetings
from tracegraph.ingest.causal.graph.segments import WAIT, Segments
from tracegraph.ingest.causal.rules.edges import Waits, inferred_waits
from tracegraph.vocabulary.gaps import GAP_CODE, WAITING_FOR_RANK
from tracegraph.vocabulary.mechanisms import CODE, COLLECTIVE, PROGRAM_ORDER


def thread_waits(meetings: Meetings, events: Events) -> Waits:
    """Make the waits of members on threads, whose ends cut the lanes; `join_ranks` cuts GPU work."""
    chosen = np.flatnonzero(events.on_thread[meetings.event])
    event, until = meetings.event[chosen], meetings.rendezvous[meetings.member_of[chosen]]
    return inferred_waits(COLLECTIVE, events.lane[event], meetings.arrival[chosen], until, event)


@dataclass(frozen=True)
class _Cut:
    """Positions of each member's arrival, wait and transfer, and of each operation's rendezvous; -1: none."""

    arrival: Ints
    wait: Ints
    transfer: Ints
    rendezvous: Ints


def join_ranks(segments: Segments, events: Events, meetings: Meetings) -> tuple[Segments, Candidates]:
    """Insert the pieces of collectives into the segments, and find what they depend on.

    A member whose activity is complete before the last one arrives is left out: times are noisy.
    """
    at = _member_segments(segments, events, meetings)
    there = _taking_part(segments, meetings, at)
    on_gpu = ~events.on_thread[meetings.event]
    segments, cut = _insert(segments, meetings, at, there, on_gpu)
    return segments, _joints(segments, meetings, cut, there, on_gpu)


def _taking_part(segments: Segments, meetings: Meetings, at: Ints) -> Ints:
    """Find the members whose segment lasts until the last one arrives, if another member's does, too."""
    since = meetings.rendezvous[meetings.member_of]
    there = (at >= 0) & (segments.start[at] <= since) & (segments.end[at] >= since)
    there &= meetings.arrival >= segments.start.min(initial=0)
    count = np.bincount(meetings.member_of, there, minlength=len(meetings))
    met = np.zeros(len(meetings), dtype=bool)
    met[meetings.member_of[there & meetings.is_last]] = True
    return np.flatnonzero(there & (met & (count > 1))[meetings.member_of])


def _member_segments(segments: Segments, events: Events, meetings: Meetings) -> Ints:
    """Find the segment with which each member's transfer or, on a stream, its activity begins, else -1."""
    threads = np.flatnonzero(segments.on_thread)
    found = segments.gpu_first[meetings.event].copy()
    on_thread = np.flatnonzero(events.on_thread[meetings.event])
    if not len(on_thread) or not len(threads):
        return found
    base, stride = int(segments.start.min()), int(np.ptp(segments.start)) + 2
    keys = segments.lane[threads] * stride + segments.start[threads] - base
    lane = events.lane[meetings.event[on_thread]]
    wanted = lane * stride + meetings.rendezvous[meetings.member_of[on_thread]] - base
    place = np.minimum(np.searchsorted(keys, wanted), len(threads) - 1)
    found[on_thread] = np.where(keys[place] == wanted, threads[place], -1)
    return found


def _insert(
    segments: Segments, meetings: Meetings, at: Ints, there: Ints, on_gpu: Flags
) -> tuple[Segments, _Cut]:
    """Cut and insert the pieces of the members in `there`, and sort them in."""
    since = meetings.rendezvous[meetings.member_of]
    last = there[meetings.is_last[there]]
    waiting = there[on_gpu[there] & (meetings.arrival[there] < since[there])]
    start, work = segments.start.copy(), segments.work.copy()
    start[at[waiting]] = since[waiting]
    work[at[waiting]] = segments.end[at[waiting]] - since[waiting]
    parts = [
        replace(segments, start=start, work=work, gpu_first=start, gpu_last=start),
        _pieces(segments, meetings, at, waiting, segments.start[at[waiting]], since[waiting]),
        _pieces(segments, meetings, at, there, meetings.arrival[there], meetings.arrival[there]),
        _pieces(segments, meetings, at, last, since[last], since[last]),
    ]
    whole = join_rows(parts)
    # Pieces that begin and end together: arrivals, rendezvous, others; those of a stream as in the file.
    kind = np.repeat([3, 2, 0, 1], [len(part) for part in parts])
    tie = np.where(whole.on_thread, -1, whole.event)
    order = np.lexsort((kind, tie, whole.end, whole.start, whole.lane))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    old, wait, arrival, rendezvous = np.split(place, np.cumsum([len(part) for part in parts])[:-1])
    cut = _Cut(
        arrival=_spread(arrival, there, len(at)),
        wait=_spread(wait, waiting, len(at)),
        transfer=_spread(old[at[there]], there, len(at)),
        rendezvous=_spread(rendezvous, meetings.member_of[last], len(meetings)),
    )
    first, ends = (np.where(own >= 0, old[own], -1) for own in (segments.gpu_first, segments.gpu_last))
    mine = there[on_gpu[there]]
    first[meetings.event[mine]] = cut.arrival[mine]
    return replace(select_rows(whole, order), gpu_first=first, gpu_last=ends), cut


def _spread(values: Ints, places: Ints, count: int) -> Ints:
    """Put the values at their places among `count`, and -1 elsewhere."""
    spread = np.full(count, -1, dtype=np.int64)
    spread[places] = values
    return spread


def _joints(segments: Segments, meetings: Meetings, cut: _Cut, there: Ints, on_gpu: Flags) -> Candidates:
    """Make the dependencies of the pieces; on a thread, program order already makes half of them."""
    meets = cut.rendezvous[meetings.member_of]
    other, last = there[~meetings.is_last[there]], there[meetings.is_last[there]]
    waiting = np.flatnonzero(cut.wait >= 0)
    on_last = last[on_gpu[last]]
    along = [
        (cut.arrival[on_last], meets[on_last]),
        (meets[on_last], cut.transfer[on_last]),
        (cut.arrival[waiting], cut.wait[waiting]),
        (cut.wait[waiting], cut.transfer[waiting]),
    ]
    tied = other[on_gpu[other] & (cut.wait[other] < 0)]
    along.append((cut.arrival[tied], cut.transfer[tied]))
    between = [(cut.arrival[other], meets[other]), (meets[other], cut.transfer[other])]
    cause, effect = (np.concatenate(ends) for ends in zip(*along, *between, strict=True))
    operation = meetings.member_of[np.concatenate([other, other])]
    inside = len(cause) - len(operation)
    return Candidates(
        cause=cause,
        effect=effect,
        mechanism=as_terms(np.repeat([CODE[PROGRAM_ORDER], CODE[COLLECTIVE]], [inside, len(operation)])),
        recorded=np.append(np.ones(inside, dtype=bool), meetings.recorded[operation]),
        confidence=np.append(np.ones(inside), meetings.confidence[operation]),
        arrival=segments.completion[cause],
    )


def _pieces(
    segments: Segments, meetings: Meetings, at: Ints, chosen: Ints, start: Ints, end: Ints
) -> Segments:
    """Make a waiting segment of each chosen member, from `start` to `end`."""
    count = len(chosen)
    return Segments(
        lane=segments.lane[at[chosen]],
        start=start,
        end=end,
        event=meetings.event[chosen],
        kind=np.full(count, WAIT, dtype=np.int8),
        gap_name=np.full(count, GAP_CODE[WAITING_FOR_RANK], dtype=np.int8),
        work=np.zeros(count, dtype=np.int64),
        on_thread=segments.on_thread[at[chosen]],
        gpu_first=start,
        gpu_last=start,
    )
