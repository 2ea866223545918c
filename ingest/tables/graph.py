"""The graph of a run as node and relationship tables, from the causal model."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.allocations import Allocations, find_allocations
from tracegraph.ingest.causal.graph.model import RankModel
from tracegraph.ingest.causal.graph.path_rows import path_table
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.causal.graph.stack_frames import find_frames
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.measures.measures import Measures, measure
from tracegraph.ingest.ranks.communication import with_communication
from tracegraph.ingest.ranks.members import find_members
from tracegraph.ingest.tables import nodes as graph_nodes
from tracegraph.ingest.tables import relationships as graph_relationships
from tracegraph.ingest.tables.collectives import collective_nodes, member_of
from tracegraph.ingest.tables.columns import SegmentNodes, label_column, make_table
from tracegraph.ingest.tables.gpu_work import with_kernel_types
from tracegraph.ingest.tables.measures import counter_nodes, measured, work_of
from tracegraph.ingest.tables.pauses import find_pauses
from tracegraph.ingest.trace import FileFacts, TraceFile, file_facts
from tracegraph.store.schema import node_labels, schema
from tracegraph.store.tables import GraphTables, new_graph

_RUN_ID = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class RunFacts:
    """What the Run node says beyond the model; for a scenario also the run that it changes, and how."""

    created: str
    tool_version: str
    integrity: list[dict[str, object]]
    step_marker: str | None = None
    job: str | None = None
    scenario_of: str | None = None
    change: str | None = None


class _Ids:
    """Hands out node ids, table after table."""

    def __init__(self) -> None:
        self.next = 0

    def take(self, count: int) -> Ints:
        ids = np.arange(self.next, self.next + count, dtype=np.int64)
        self.next += count
        return ids


def _merge_with_events(model: Solution) -> Flags:
    """Flag the segments that are their event's own node: work that spans the whole event.

    A segment of a thread must have some length: after a change several of length 0 may be pieces of one
    event.
    """
    segments, events = model.segments, model.events
    event = segments.event
    merged: Flags = (
        (event >= 0)
        & (segments.kind == WORK)
        & (segments.start == events.start[event])
        & (segments.end == events.end[event])
        & ~(segments.on_thread & (segments.start == segments.end))
    )
    return merged


def build_graph(trace: TraceFile, model: RankModel, name: str, folder: Path | None = None) -> GraphTables:
    """Build the tables of a run of one file: see `build_tables`."""
    files = [file_facts(trace, model.clock_offset_ns, model.clock_drift_ppb)]
    stated, measures = measure(trace, model, Integrity(trace.path))
    stated = with_kernel_types(with_communication(stated, find_members(model, trace.events)))
    allocations = find_allocations(trace, model)
    return build_tables(files, stated, allocations, model, name, folder, measures)


def build_tables(
    files: Sequence[FileFacts],
    stated: pa.Table,
    allocations: Allocations,
    model: Solution,
    name: str,
    folder: Path | None = None,
    measures: Measures | None = None,
) -> GraphTables:
    """Build the node and relationship tables of a run, but for the node that `add_run` makes.

    Ids are in the order of `schema.NODES`.

    Parameters
    ----------
    stated
        What the files say of the model's events, in the columns of EVENT_SCHEMA that nodes carry, with
        `kernel_type`, and the work of operators if it was counted.
    folder
        Each table goes there as soon as it is made: a million events then need half as much memory.
    measures
        What else is known of the work of events.
    """
    graph = GraphTables(name, {}, {}) if folder is None else new_graph(name, folder)
    with graph.written_beside():
        _add_tables(graph, files, stated, allocations, model, measures)
    return graph


def _add_tables(
    graph: GraphTables,
    files: Sequence[FileFacts],
    stated: pa.Table,
    allocations: Allocations,
    model: Solution,
    measures: Measures | None,
) -> None:
    graph.rows["critical_path"] = path_table(model)
    ids = _Ids()
    run_id, trace_ids = ids.take(len(_RUN_ID)), ids.take(len(files))
    lane_ids = ids.take(len(model.lanes.frame))
    step_ids, phase_ids = ids.take(len(model.steps.number)), ids.take(len(model.phases))
    event_ids = ids.take(len(model.events))
    merged = _merge_with_events(model)
    segment_node = np.empty(len(model.segments), dtype=np.int64)
    segment_node[merged] = event_ids[model.segments.event[merged]]
    segment_node[~merged] = ids.take(int((~merged).sum()))
    segments = SegmentNodes(merged, segment_node)
    chain_first = np.flatnonzero(np.append(True, model.binding.chain[1:] != model.binding.chain[:-1]))
    chain_ids = ids.take(len(chain_first))
    frames = find_frames(model)
    frame_ids = ids.take(len(frames))
    common = {"run": graph.run}
    graph.nodes["Trace"] = graph_nodes.trace_nodes(files, trace_ids, common)
    graph.nodes["Lane"] = graph_nodes.lane_nodes(model, lane_ids, common)
    graph.nodes["Step"] = graph_nodes.step_nodes(model, step_ids, common)
    graph.nodes["Phase"] = graph_nodes.phase_nodes(model, phase_ids, common)
    pauses = find_pauses(model)
    graph.nodes["Event"] = graph_nodes.event_nodes(stated, model, event_ids, segments, frames, pauses, common)
    graph.nodes["Segment"] = graph_nodes.segment_nodes(model, segments, frames, pauses, common)
    del pauses
    graph.nodes["Chain"] = graph_nodes.chain_nodes(model, chain_first, chain_ids, common)
    graph.nodes["Frame"] = graph_nodes.frame_nodes(model, frames, frame_ids, common)
    graph.relationships.update(graph_relationships.dependency_tables(model, segments))
    graph.relationships.update(graph_relationships.event_relationships(model, event_ids, segments))
    graph.relationships["LEADS_TO"] = graph_relationships.leads_to(model, chain_first, chain_ids)
    called = np.flatnonzero(frames.parent >= 0)
    called_from = {"start": frame_ids[called], "end": frame_ids[frames.parent[called]]}
    graph.relationships["CALLED_FROM"] = pa.table(called_from)
    graph.relationships["OF_RUN"] = pa.table({"start": trace_ids, "end": np.repeat(run_id, len(files))})
    place = {file.rank: position for position, file in enumerate(files)}
    own = np.array([place[rank] for rank in model.lanes.rank.tolist()], dtype=np.int64)
    graph.relationships["OF_TRACE"] = pa.table({"start": lane_ids, "end": trace_ids[own]})
    if model.meetings is not None and len(model.meetings):
        met = ids.take(len(model.meetings))
        graph.nodes["Collective"] = collective_nodes(model, model.meetings, met, common)
        graph.relationships["MEMBER_OF"] = member_of(model, model.meetings, event_ids, met)
    if len(allocations):
        rows = ids.take(len(allocations))
        graph.nodes["Allocation"] = graph_nodes.allocation_nodes(allocations, rows, common)
        graph.relationships["DURING"] = graph_relationships.during(allocations, event_ids, rows)
    if measures is not None:
        graph.relationships["WORK_OF"] = work_of(measures, event_ids)
        if counters := measures.counters.num_rows:
            read = ids.take(counters)
            graph.nodes["Counter"] = counter_nodes(model, measures.counters, read, common)
            graph.relationships["MEASURED"] = measured(measures.counters, event_ids, read)


def add_run(graph: GraphTables, model: Solution, facts: RunFacts) -> None:
    """Add the node of a run whose other nodes are in `graph`; the counts include it."""
    by_label = dict(sorted({**graph.count_labels(), "Run": 1}.items()))
    columns = {
        "id": _RUN_ID,
        "labels": label_column("Run", 1),
        "name": graph.run,
        "state": "ready",
        "created": facts.created,
        "ranks": graph.nodes["Trace"].num_rows,
        "window_start_ns": model.window.start,
        "window_end_ns": model.window.end,
        "end_chain": int(model.binding.chain[model.sink]),
        "cross_thread": model.cross_thread,
        "step_marker": pa.array([facts.step_marker], pa.string()),
        "job": pa.array([facts.job], pa.string()),
        "tool_version": facts.tool_version,
        "schema_version": schema.SCHEMA_VERSION,
        "events": len(model.events),
        "nodes": graph.count_nodes() + 1,
        "nodes_by_label": json.dumps(by_label),
        "relationships": json.dumps(graph.count_relationships()),
        "integrity": json.dumps(facts.integrity),
    }
    if facts.scenario_of is not None and facts.change is not None:
        columns |= {"scenario_of": facts.scenario_of, "change": facts.change}
    graph.nodes["Run"] = make_table(columns, node_labels.RUN.properties, 1)
