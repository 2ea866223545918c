"""The operations in which ranks met, read back from a run's tables, at the times of a scenario's events."""

import json

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.graph.meetings import Meetings
from tracegraph.store.tables import GraphTables
from tracegraph.vocabulary.evidence import EVIDENCE


def meetings_at(tables: GraphTables, events: Events) -> Meetings | None:
    """The operations of a run, whose events are at other times now; None for a run of one file."""
    if "Collective" not in tables.nodes:
        return None
    rows, first = tables.nodes["Collective"], int(tables.read_nodes("Event", ("id",))["id"][0].as_py())
    member = tables.read_relationships("MEMBER_OF", ("start", "end"))
    event = member["start"].to_numpy() - first
    operation = member["end"].to_numpy() - int(rows["id"][0].as_py())
    arrival = events.start[event]
    rendezvous = np.full(len(rows), np.iinfo(np.int64).min)
    np.maximum.at(rendezvous, operation, arrival)
    sorted_by_time = np.argsort(rendezvous, kind="stable")
    place = np.empty(len(rows), dtype=np.int64)
    place[sorted_by_time] = np.arange(len(rows))
    order = np.lexsort((events.lane[event], arrival, place[operation]))
    listed = rows.take(sorted_by_time).to_pydict()

    def numbers(name: str) -> Ints:
        return np.array([NONE if value is None else value for value in listed[name]], dtype=np.int64)

    return Meetings(
        name=listed["name"],
        group=listed["group"],
        sequence=numbers("group_sequence"),
        size=numbers("size"),
        recorded=np.array([one == EVIDENCE[0] for one in listed["evidence"]], dtype=bool),
        confidence=np.array(listed["confidence"], dtype=np.float64),
        bytes=numbers("bytes"),
        dtype=listed["dtype"],
        missing=[tuple(json.loads(ranks)) for ranks in listed["missing"]],
        rendezvous=rendezvous[sorted_by_time],
        member_of=place[operation][order],
        event=event[order],
        arrival=arrival[order],
        end=events.end[event][order],
    )
