"""The memory rows of a run in a scenario: each moves with its thread, and sums add up anew."""

from dataclasses import replace

import numpy as np

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.allocations import Allocations, net_bytes, no_allocations
from tracegraph.ingest.what_if.changes.resulting_graph import Replayed
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.timeline import segment_times
from tracegraph.store.tables import GraphTables
from tracegraph.vocabulary.memory import device_number

_NUMBERS = {
    **{name: name for name in ("source_index", "rank", "lane", "device", "bytes", "step")},
    **{"at": "at_ns", "allocated": "allocated_bytes", "reserved": "reserved_bytes", "net": "net_bytes"},
}
"""The arrays of `Allocations`, and the property of nodes that holds each."""


def allocations_at(tables: GraphTables, graph: ReplayGraph, replayed: Replayed) -> Allocations:
    """Find the memory rows of the run with these tables at the times of a replay of its `graph`.

    A total that was stated may differ from the sum of the sizes before it; the difference stays as it was.
    """
    found = _read(tables)
    moved = replace(found, at=_moved(graph, replayed, found.lane, found.at))
    moved = select_rows(moved, np.lexsort((np.arange(len(moved)), moved.at, moved.rank)))
    net = net_bytes(moved.bytes, moved.rank, moved.device_type, moved.device)
    stated = moved.allocated != NONE
    allocated = np.where(stated, np.where(stated, moved.allocated, 0) - moved.net + net, NONE)
    return replace(moved, allocated=allocated, net=net)


def _read(tables: GraphTables) -> Allocations:
    """Read the memory rows as they are stored."""
    if "Allocation" not in tables.nodes:
        return no_allocations()
    rows = tables.nodes["Allocation"]
    columns: dict[str, Ints] = {
        name: rows[property_].fill_null(NONE).to_numpy() for name, property_ in _NUMBERS.items()
    }
    first, first_event = int(rows["id"][0].as_py()), int(tables.read_nodes("Event", ("id",))["id"][0].as_py())
    during = tables.relationships["DURING"]
    event = np.full(len(rows), -1, dtype=np.int64)
    event[during["start"].to_numpy() - first] = during["end"].to_numpy() - first_event
    kinds = np.array([device_number(text) for text in rows["device_type"].to_pylist()], dtype=np.int64)
    return Allocations(**columns, device_type=kinds, event=event)


def _moved(graph: ReplayGraph, replayed: Replayed, lane: Ints, time: Ints) -> Ints:
    """Move moments of threads to a replay: as far into their segment as before, at most to its end."""
    segments, window = graph.segments, graph.window
    if not len(segments) or not len(time):
        return time
    start, end = segment_times(graph, replayed.start, replayed.work)
    stride = window.end - window.start + 1
    keys = segments.lane * stride + segments.start - window.start
    inside = np.clip(time, window.start, window.end) - window.start
    last = np.maximum(np.searchsorted(keys, np.maximum(lane, -1) * stride + inside, "right") - 1, 0)
    there = (segments.lane[last] == lane) & (time >= window.start) & (time < window.end)
    later = np.where(time >= window.end, time + replayed.end - window.end, time)
    return np.where(there, np.minimum(start[last] + time - segments.start[last], end[last]), later)
