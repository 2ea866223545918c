"""The steps and phases of a run after a change: as they were divided, at their new times."""

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.causal.steps.phases import Phases
from tracegraph.ingest.causal.steps.steps import Steps
from tracegraph.ingest.what_if.changes.resulting_graph import Replayed
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.timeline import segment_times
from tracegraph.store.tables import GraphTables
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.phases import PHASE_NAMES


def step_events(tables: GraphTables, graph: ReplayGraph) -> Ints:
    """Find for each step of the run the event that marks it."""
    rows = tables.nodes["Step"]
    calls, rank = graph.calls, graph.lanes.rank[graph.calls.lane]
    stride = int(calls.source_index.max(initial=0)) + 1
    keys = rank * stride + calls.source_index
    order = np.argsort(keys, kind="stable")
    wanted = _numbers(rows["rank"]) * stride + _numbers(rows["source_index"])
    place: Ints = order[np.searchsorted(keys[order], wanted)]
    return place


def steps_at(tables: GraphTables, graph: ReplayGraph, events: Events) -> Steps:
    """Move the steps to the new times of the events; they keep the events that they had."""
    rows, event, of_event = tables.nodes["Step"], step_events(tables, graph), graph.calls.step
    rank, number = _numbers(rows["rank"]), _numbers(rows["number"])
    window_end = events.end[event]
    for at in range(len(event)):
        mine = events.is_gpu & (of_event == number[at]) & (events.rank == rank[at])
        window_end[at] = max(int(window_end[at]), int(events.end[mine].max(initial=window_end[at])))
    return Steps(
        rank=rank,
        number=number,
        event=event,
        lane=events.lane[event],
        start=events.start[event],
        end=events.end[event],
        window_end=window_end,
        of_event=of_event,
    )


def phases_at(
    tables: GraphTables, graph: ReplayGraph, replayed: Replayed, events: Events, launches: Launches
) -> Phases:
    """Move the phases to the new times of the segments with which they begin and end."""
    rows = tables.nodes["Phase"]
    lane, start, end = (_numbers(rows[name]) for name in ("lane", "start_ns", "end_ns"))
    times = segment_times(graph, replayed.start, replayed.work)
    began = times[0][_last_begun(graph, lane, start + 1)]
    ended = np.maximum(began, times[1][_last_begun(graph, lane, end)])
    window_end, call = ended.copy(), launches.call
    of_rank, work = _numbers(rows["rank"]), np.flatnonzero(events.is_gpu & (call >= 0))
    issued, ranks = graph.calls.start[call[work]], events.rank[work]
    for at in range(len(lane)):
        mine = work[(ranks == of_rank[at]) & (issued >= start[at]) & (issued < end[at])]
        window_end[at] = max(int(ended[at]), int(events.end[mine].max(initial=ended[at])))
    return Phases(
        rank=of_rank,
        step=_numbers(rows["step"], NONE),
        name=np.array([PHASE_NAMES.index(name) for name in rows["name"].to_pylist()], dtype=np.int64),
        occurrence=_numbers(rows["occurrence"]),
        lane=lane,
        end_lane=_numbers(rows["end_lane"]),
        start=began,
        end=ended,
        window_end=window_end,
        recorded=np.array([text == EVIDENCE[0] for text in rows["evidence"].to_pylist()], dtype=bool),
        confidence=rows["confidence"].to_numpy(),
    )


def _last_begun(graph: ReplayGraph, lane: Ints, before: Ints) -> Ints:
    """Find the segment of each lane that began last before a time."""
    segments, window = graph.segments, graph.window
    stride = window.end - window.start + 2
    keys = segments.lane * stride + segments.start - window.start
    wanted = lane * stride + np.clip(before, window.start + 1, window.end + 1) - window.start
    place: Ints = np.maximum(np.searchsorted(keys, wanted, "left") - 1, 0)
    return place


def _numbers(column: pa.ChunkedArray, missing: int = 0) -> Ints:
    values: Ints = column.fill_null(missing).to_numpy()
    return values
