"""The tables of the operations in which ranks met."""

import json

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.graph.meetings import Meetings
from tracegraph.ingest.causal.graph.solved import Storable
from tracegraph.ingest.tables.columns import Columns, label_column, make_table, nullable
from tracegraph.ingest.tables.member_times import member_times
from tracegraph.ingest.text_columns import arrow_texts
from tracegraph.store.schema import labels, schema
from tracegraph.vocabulary.collectives import KIND
from tracegraph.vocabulary.evidence import EVIDENCE


def collective_nodes(model: Storable, meetings: Meetings, ids: Ints, common: Columns) -> pa.Table:
    """One row an operation, in the order of the rendezvous."""
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
    return make_table(columns, labels.COLLECTIVE.properties, len(ids))


def member_of(model: Storable, meetings: Meetings, event_ids: Ints, collective_ids: Ints) -> pa.Table:
    """One row a member: from its event to its operation."""
    times = member_times(model, meetings)
    columns = {
        "start": event_ids[meetings.event],
        "end": collective_ids[meetings.member_of],
        "arrived_ns": meetings.arrival,
        "waited_ns": times.waited,
        "waited_once_ns": times.waited_once,
        "transfer_ns": times.transfer,
        "exposed_wait_ns": times.exposed_wait,
        "exposed_transfer_ns": times.exposed_transfer,
    }
    known = next(kind for kind in schema.RELATIONSHIPS if kind.type == "MEMBER_OF")
    return make_table(columns, known.properties, len(meetings.event))


def _of_each(best: np.ufunc, meetings: Meetings, values: Ints) -> Ints:
    """The least or the greatest of the values of each operation's members."""
    first = np.flatnonzero(np.append(True, meetings.member_of[1:] != meetings.member_of[:-1]))
    found: Ints = best.reduceat(values, first) if len(values) else values
    return found


def _sizes(meetings: Meetings) -> Ints:
    """How many ranks take part, as far as is known."""
    return np.maximum(meetings.size, meetings.members)


def _bus_factor(kind: str, members: int) -> float | None:
    return KIND[kind].bus_factor(members) if KIND[kind].moves_data and members > 1 else None
