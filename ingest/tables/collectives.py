"""The tables of the operations in which ranks met."""

import json
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.meetings import Meetings
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.intervals import Spans, covered, ended_before
from tracegraph.ingest.ranks.communication_kinds import is_communication
from tracegraph.ingest.tables.columns import Columns, label_column, make_table, nullable
from tracegraph.ingest.text_columns import arrow_texts
from tracegraph.store.schema import node_labels, schema
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.collectives import KIND
from tracegraph.vocabulary.evidence import EVIDENCE


@dataclass(frozen=True)
class MemberTimes:
    """Times of each member of `Meetings`, ns; see the properties of `MEMBER_OF` in the schema.

    Time in which operations of one rank overlap counts as exposed once. Of a rank in short it is not known,
    `NONE`: what it computed is not here.
    """

    waited: Ints
    waited_once: Ints
    transfer: Ints
    exposed_wait: Ints
    exposed_transfer: Ints


def member_times(model: Solution, meetings: Meetings) -> MemberTimes:
    """Compute the times of all members.

    On a GPU, a kernel that computes hides communication; a collective on a thread is hidden by work of
    another thread of its rank.
    """
    arrival, since = meetings.arrival, np.maximum(meetings.rendezvous[meetings.member_of], meetings.arrival)
    until = np.maximum(meetings.end, since)
    rank = model.events.rank[meetings.event]
    group = rank * 2 + model.events.on_thread[meetings.event]
    computing = _computing(model, meetings)
    waits, transfers = (_once(rank, *stretch) for stretch in ((arrival, since), (since, until)))
    in_short = model.lanes.in_short[model.events.lane[meetings.event]]
    exposed = [
        np.where(in_short, NONE, stretch[1] - stretch[0] - covered(Spans(group, *stretch), computing))
        for stretch in (waits, transfers)
    ]
    return MemberTimes(
        waited=since - arrival,
        waited_once=waits[1] - waits[0],
        transfer=until - since,
        exposed_wait=exposed[0],
        exposed_transfer=exposed[1],
    )


def _once(rank: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Cut from each stretch what earlier ones of its rank cover, and return begins and ends."""
    order = np.lexsort((start, rank))
    begin = start.copy()
    for one in np.unique(rank).tolist():
        mine = order[rank[order] == one]
        begin[mine] = np.maximum(start[mine], ended_before(end[mine], np.iinfo(np.int64).min))
    return np.minimum(begin, end), end


def _computing(model: Solution, meetings: Meetings) -> Spans:
    """Collect work that is not communication, grouped by twice the rank for GPUs and one more for threads."""
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


def _communicates(model: Solution, meetings: Meetings) -> Flags:
    events = model.events
    named = np.array([is_communication(str(name)) for name in events.name.values], dtype=bool)
    found: Flags = events.name.matching(named).copy()
    found[meetings.event] = True
    return found


def _own_lanes(model: Solution, meetings: Meetings) -> Ints:
    """Find the threads that communicate."""
    events = model.events
    lanes: Ints = np.unique(events.lane[meetings.event[events.on_thread[meetings.event]]])
    return lanes


def collective_nodes(model: Solution, meetings: Meetings, ids: Ints, common: Columns) -> pa.Table:
    """Make one row for each operation, in the order of the rendezvous."""
    last = meetings.event[meetings.is_last]
    columns = {
        **common,
        "id": ids,
        "labels": label_column("Collective", len(ids)),
        "operation": np.arange(len(ids)),
        "name": meetings.name,
        "group": pa.array(meetings.group, pa.string()),
        "group_sequence": nullable(meetings.sequence),
        "size": nullable(meetings.size),
        "members": meetings.members,
        "ranks": _ranks(model, meetings),
        "missing": [json.dumps(ranks) for ranks in meetings.missing],
        "start_ns": _of_each(np.minimum, meetings, meetings.arrival),
        "rendezvous_ns": meetings.rendezvous,
        "end_ns": _of_each(np.maximum, meetings, meetings.end),
        "last_rank": model.events.rank[last],
        "bytes": nullable(meetings.bytes),
        "bus_factor": pa.array(map(_bus_factor, meetings.name, _sizes(meetings).tolist()), pa.float64()),
        "dtype": pa.array(meetings.dtype, pa.string()),
        "evidence": arrow_texts(~meetings.recorded, EVIDENCE),
        "confidence": meetings.confidence,
    }
    return make_table(columns, node_labels.COLLECTIVE.properties, len(ids))


def member_of(model: Solution, meetings: Meetings, event_ids: Ints, collective_ids: Ints) -> pa.Table:
    """Make one row for each member: from its event to its operation."""
    times = member_times(model, meetings)
    columns = {
        "start": event_ids[meetings.event],
        "end": collective_ids[meetings.member_of],
        "arrived_ns": meetings.arrival,
        "waited_ns": times.waited,
        "waited_once_ns": times.waited_once,
        "transfer_ns": times.transfer,
        "exposed_wait_ns": nullable(times.exposed_wait),
        "exposed_transfer_ns": nullable(times.exposed_transfer),
    }
    known = next(kind for kind in schema.RELATIONSHIPS if kind.type == "MEMBER_OF")
    return make_table(columns, known.properties, len(meetings.event))


def _ranks(model: Solution, meetings: Meetings) -> list[str]:
    """Write the ranks of each operation, as far as they are known, as a JSON list."""
    ranks = model.events.rank[meetings.event]
    first = np.flatnonzero(np.append(True, meetings.member_of[1:] != meetings.member_of[:-1]))
    members = np.split(ranks, first[1:]) if len(ranks) else []
    pairs = zip(members, meetings.missing, strict=True)
    # A job has few groups, each with thousands of operations.
    written = lru_cache(maxsize=1024)(json.dumps)
    return [written(tuple(sorted({*own.tolist(), *missing}))) for own, missing in pairs]


def _of_each(best: np.ufunc, meetings: Meetings, values: Ints) -> Ints:
    """Find the least or the greatest of the values of each operation's members."""
    first = np.flatnonzero(np.append(True, meetings.member_of[1:] != meetings.member_of[:-1]))
    found: Ints = best.reduceat(values, first) if len(values) else values
    return found


def _sizes(meetings: Meetings) -> Ints:
    """Find how many ranks take part in each operation, as far as is known."""
    return np.maximum(meetings.size, meetings.members)


def _bus_factor(kind: str, members: int) -> float | None:
    return KIND[kind].bus_factor(members) if KIND[kind].moves_data and members > 1 else None
