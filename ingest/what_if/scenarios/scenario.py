"""A scenario: what a change makes of a run, as a graph that can be stored as a run of its own."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.graph.allocations import Allocations
from tracegraph.ingest.causal.graph.binding import find_sink, walk
from tracegraph.ingest.causal.graph.meetings import Meetings
from tracegraph.ingest.causal.graph.segments import Segments
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.causal.launches.lost_launches import no_lost_launches
from tracegraph.ingest.causal.rules.context import Scene
from tracegraph.ingest.text_columns import with_role
from tracegraph.ingest.what_if.changes.memory_rows import allocations_at
from tracegraph.ingest.what_if.changes.resulting_graph import Changed, Replayed, change_graph
from tracegraph.ingest.what_if.changes.steps_after_change import phases_at, step_events, steps_at
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.timeline import event_times, segment_times
from tracegraph.store.tables import GraphTables
from tracegraph.vocabulary.categories import GPU_WORK, NOT_IN_LANES
from tracegraph.vocabulary.evidence import EVIDENCE


def meetings_at(tables: GraphTables, events: Events) -> Meetings | None:
    """Return the operations of a run, whose events are at other times now; None for a run of one file."""
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


@dataclass(frozen=True)
class Scenario(Solution):
    """A changed graph, whose tables are those of a `Model`, and its memory."""

    allocations: Allocations


def build_scenario(tables: GraphTables, graph: ReplayGraph, replayed: Replayed) -> Scenario:
    """Return the scenario of a run with these tables, which are the `graph`, at the times of a replay."""
    changed = change_graph(graph, replayed)
    segments, found = changed.segments, changed.dependencies
    sink = find_sink(segments, changed.window, graph.lanes)
    launches = Launches(_calls(tables, len(graph.calls)), no_lost_launches())
    events = _events(tables, graph, _times(graph, replayed, changed))
    scene = Scene(
        events=events,
        lanes=graph.lanes,
        stack=_stack(graph, segments),
        launches=launches,
        steps=steps_at(tables, graph, events),
        phases=phases_at(tables, graph, replayed, events, launches),
        window=changed.window,
        doubts=(),
    )
    return Scenario(
        scene=scene,
        segments=segments,
        dependencies=found,
        gap_name=changed.gap_name,
        binding=changed.binding,
        on_path=walk(segments, found, changed.binding, sink),
        sink=sink,
        cross_thread=tables.nodes["Run"]["cross_thread"][0].as_py(),
        meetings=meetings_at(tables, events),
        allocations=allocations_at(tables, graph, replayed),
    )


def _calls(tables: GraphTables, count: int) -> Ints:
    """For each event the call that launched it, -1 for none."""
    launched = tables.relationships["LAUNCHED"]
    first = int(tables.read_nodes("Event", ("id",))["id"][0].as_py()) if count else 0
    call = np.full(count, -1, dtype=np.int64)
    call[launched["end"].to_numpy() - first] = launched["start"].to_numpy() - first
    return call


def _times(graph: ReplayGraph, replayed: Replayed, changed: Changed) -> tuple[Ints, Ints]:
    """When each event starts and ends: with its segments; what has none moves with what runs beside it."""
    calls, window = graph.calls, graph.window
    clipped = replace(
        calls,
        start=np.clip(calls.start, window.start, window.end),
        end=np.clip(calls.end, window.start, window.end),
    )
    start, end, known = event_times(
        replace(graph, calls=clipped), *segment_times(graph, replayed.start, replayed.work)
    )
    starts_inside = known & (calls.start >= window.start) & (calls.start < window.end)
    ends_inside = known & (calls.end > window.start) & (calls.end <= window.end)
    start = np.where(starts_inside, start, _beside(graph, replayed, calls.start))
    end = np.where(ends_inside, end, _beside(graph, replayed, calls.end))
    segments, event = changed.segments, changed.segments.event
    at = np.flatnonzero(event >= 0)
    inside = event[at]
    np.minimum.at(start, inside, segments.start[at])
    np.maximum.at(end, inside, segments.end[at])
    # A wait that is put in may lie before all that was in an event, and so in what contains it.
    at, inside = changed.idle, event[changed.idle]
    while len(at := at[inside >= 0]):
        inside = calls.parent[inside[inside >= 0]]
        np.minimum.at(start, inside[inside >= 0], segments.start[at][inside >= 0])
        np.maximum.at(end, inside[inside >= 0], segments.end[at][inside >= 0])
    return start, np.maximum(start, end)


def _beside(graph: ReplayGraph, replayed: Replayed, time: Ints) -> Ints:
    """Moments on the events' lanes, moved as what began there last; after the window as its end."""
    segments, window, lane = graph.segments, graph.window, graph.calls.lane
    stride = window.end - window.start + 1
    keys = segments.lane * stride + segments.start - window.start
    at = np.searchsorted(
        keys, lane * stride + np.clip(time, window.start, window.end) - window.start, "right"
    )
    last = np.maximum(at - 1, 0)
    there = (segments.lane[last] == lane) & (time >= window.start)
    moved = np.where(there, (replayed.start - segments.start)[last], 0)
    return time + np.where(time >= window.end, replayed.end - window.end, moved)


def _events(tables: GraphTables, graph: ReplayGraph, times: tuple[Ints, Ints]) -> Events:
    """Return the events at those times; what only the rules look at is absent."""
    calls = graph.calls
    kept = tables.read_nodes("Event", ("correlation", "sequence_number", "elements"))
    absent = np.broadcast_to(np.int64(NONE), len(calls))
    none = np.broadcast_to(np.int64(-1), len(calls))
    is_gpu = with_role(calls.category, *GPU_WORK)
    correlation = _numbers(kept, "correlation")
    step_number = np.full(len(calls), NONE, dtype=np.int64)
    step_number[step_events(tables, graph)] = tables.nodes["Step"]["number"].to_numpy()
    return Events(
        source_index=calls.source_index,
        name=calls.name,
        category=calls.category,
        rank=graph.lanes.rank[calls.lane],
        lane=calls.lane,
        start=times[0],
        end=times[1],
        correlation=correlation,
        written_correlation=correlation,
        device=absent,
        stream=absent,
        sequence_number=_numbers(kept, "sequence_number"),
        forward_thread=absent,
        wait_on_stream=absent,
        wait_on_record=absent,
        elements=_numbers(kept, "elements"),
        launch_flow=none,
        forward_flow=none,
        step_number=step_number,
        is_gpu=is_gpu,
        on_thread=~(is_gpu | with_role(calls.category, *NOT_IN_LANES)),
        clipped=np.broadcast_to(np.int64(0), len(calls)),
        step_marker=graph.step_marker,
    )


def _numbers(table: pa.Table, column: str) -> Ints:
    values: Ints = table[column].fill_null(NONE).to_numpy()
    return values


def _stack(graph: ReplayGraph, segments: Segments) -> CallStack:
    """Return the call tree as it was, over the new segments of the threads."""
    threads = np.flatnonzero(segments.on_thread)
    return CallStack(
        parent=graph.calls.parent,
        piece_lane=segments.lane[threads],
        piece_start=segments.start[threads],
        piece_end=segments.end[threads],
        piece_event=segments.event[threads],
        overruns=0,
        first_overrun=-1,
    )
