"""Node tables of a run, one function for each label."""

import json
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Ints, placed_behind
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.allocations import Allocations
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.causal.graph.stack_frames import Frames
from tracegraph.ingest.flops.counting import WORK_COLUMNS
from tracegraph.ingest.ranks.communication import COMMUNICATION_COLUMNS
from tracegraph.ingest.tables.columns import Columns, SegmentNodes, label_column, make_table, nullable
from tracegraph.ingest.tables.gpu_work import gpu_work_columns
from tracegraph.ingest.tables.launched_inside import find_launched_inside
from tracegraph.ingest.tables.pauses import Pauses
from tracegraph.ingest.text_columns import TextColumn, arrow_texts
from tracegraph.ingest.trace import STATED_COLUMNS, FileFacts
from tracegraph.store.schema import node_labels
from tracegraph.vocabulary.categories import GAP, GPU_WORK, find_category, has_role
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.gaps import GAP_NAMES
from tracegraph.vocabulary.iterations import iteration_in
from tracegraph.vocabulary.memory import device_type
from tracegraph.vocabulary.phases import PHASE_NAMES

CARRIED_COLUMNS = (*STATED_COLUMNS, "kernel_type", *WORK_COLUMNS, *COMMUNICATION_COLUMNS)
"""Columns of events' nodes that scenarios take over: what a file states, and what follows from it."""


_SEGMENT_LABELS = ("Segment", "Segment;Pause")


def trace_nodes(files: Sequence[FileFacts], ids: Ints, common: Columns) -> pa.Table:
    """Make one row for each file."""
    plain = ("rank", "sha256", "clock_offset_ns", "clock_drift_ppb", "rank_offset_ns", "rank_drift_ppb")
    columns = {
        **common,
        "id": ids,
        "labels": label_column("Trace", len(files)),
        "file": [one.path for one in files],
        **{name: [getattr(one, name) for one in files] for name in plain},
        "rank_spread_ns": pa.array([one.rank_spread_ns for one in files], pa.int64()),
        "devices": [json.dumps(one.devices) for one in files],
        "device_memory": [json.dumps(one.device_memory, separators=(",", ":")) for one in files],
        "versions": [json.dumps(one.versions) for one in files],
        "in_short": [one.in_short for one in files],
    }
    return make_table(columns, node_labels.TRACE.properties, len(files))


def lane_nodes(model: Solution, ids: Ints, common: Columns) -> pa.Table:
    """Make one row for each lane, in the order of lane ids."""
    frame = model.lanes.frame
    columns = {
        **common,
        "id": ids,
        "labels": label_column("Lane", len(frame)),
        "lane": np.arange(len(frame)),
        **{name: pa.array(frame[name], from_pandas=True) for name in frame.columns},
        "longest_ns": nullable(_longest(model)),
    }
    return make_table(columns, node_labels.LANE_NODE.properties, len(frame))


def _longest(model: Solution) -> Ints:
    """Find the longest time that an event of each lane takes itself, ns; NONE where a lane has no event."""
    found = np.full(len(model.lanes.frame), NONE, dtype=np.int64)
    np.maximum.at(found, model.events.lane, model.stack.self_time(model.events))
    return found


def step_nodes(model: Solution, ids: Ints, common: Columns) -> pa.Table:
    """Make one row for each step, in time order."""
    steps = model.steps
    names = model.events.name.take(steps.event)
    columns = {
        **common,
        "rank": steps.rank,
        "id": ids,
        "labels": label_column("Step", len(ids)),
        "number": steps.number,
        "start_ns": steps.start,
        "end_ns": steps.end,
        "window_end_ns": steps.window_end,
        "name": names.arrow(),
        "marker": [model.events.step_marker] * len(ids),
        **_iterations(names),
        "source_index": model.events.source_index[steps.event],
    }
    return make_table(columns, node_labels.STEP.properties, len(ids))


def _iterations(names: TextColumn) -> Columns:
    """Read what the names of steps say if they are iterations of a server."""
    said = [iteration_in(str(name)) for name in names.values]
    found = [said[code] for code in names.codes.tolist()]
    return {
        "type": pa.array([None if one is None else one.type for one in found], pa.string()),
        "batch": pa.array([None if one is None else one.batch for one in found], pa.int64()),
        "tokens": pa.array([None if one is None else one.tokens for one in found], pa.int64()),
    }


def phase_nodes(model: Solution, ids: Ints, common: Columns) -> pa.Table:
    """Make one row for each phase, by rank and time."""
    phases = model.phases
    columns = {
        **common,
        "rank": phases.rank,
        "id": ids,
        "labels": label_column("Phase", len(ids)),
        "step": nullable(phases.step),
        "name": arrow_texts(phases.name, PHASE_NAMES),
        "occurrence": phases.occurrence,
        "start_ns": phases.start,
        "end_ns": phases.end,
        "window_end_ns": phases.window_end,
        "evidence": arrow_texts((~phases.recorded).astype(np.int64), EVIDENCE),
        "confidence": phases.confidence,
        "lane": phases.lane,
        "end_lane": phases.end_lane,
    }
    return make_table(columns, node_labels.PHASE.properties, len(ids))


def _segment_columns(model: Solution, frames: Frames, pauses: Pauses) -> Iterator[tuple[str, pa.Array]]:
    """Make the properties that only segments have one by one, each with one entry for each segment."""
    segments = model.segments
    yield "work_ns", pa.array(segments.work)
    yield "kind", arrow_texts(segments.kind, node_labels.SEGMENT_KINDS)
    yield "slack_ns", pa.array(model.slack)
    yield "margin_ns", nullable(model.binding.margin)
    yield "chain", pa.array(model.binding.chain)
    yield "frame", pa.array(frames.of_segment)
    yield "on_critical_path", pa.array(model.on_path)
    yield "gap_since_ns", pa.array(pauses.since, mask=~pauses.follows_gap)
    yield "gap_name", arrow_texts(pauses.name, GAP_NAMES, mask=~pauses.follows_gap)


def _launched_columns(model: Solution) -> dict[str, pa.Array]:
    """Make what operators take and what is launched inside events, one entry for each event."""
    inside = find_launched_inside(model)
    return {
        **{name: nullable(getattr(inside, name)) for name in ("operator_ns", "own_gpu_ns", "gpu_ns")},
        **{name: nullable(getattr(inside, name)) for name in ("kernels", "inner_kernels")},
        "recursive": pa.array(inside.recursive, mask=~inside.recursive),
    }


def _event_labels(category: str) -> str:
    also = ";GpuWork" if has_role(category, *GPU_WORK) else ""
    return f"Event;{find_category(category).label}{also}"


def event_nodes(
    table: pa.Table,
    model: Solution,
    ids: Ints,
    segments: SegmentNodes,
    frames: Frames,
    pauses: Pauses,
    common: Columns,
) -> pa.Table:
    """Make one row for each event, in the order of the files, which state `table`.

    A leaf that is not cut carries the properties of its segment.
    """
    events = model.events
    category = table["category"].combine_chunks()
    code = category.indices.to_numpy()
    named = [_event_labels(text) for text in category.dictionary.to_pylist()]
    own = np.full(len(events), -1, dtype=np.int64)
    own[model.segments.event[segments.merged]] = np.flatnonzero(segments.merged)
    kind = np.where(own < 0, 0, 1 + pauses.is_one[own])
    labels = [f"{label}{more}" for more in ("", *(f";{one}" for one in _SEGMENT_LABELS)) for label in named]
    label_sets = arrow_texts(code + len(named) * kind, labels)
    position = pa.array(own, mask=own < 0)
    columns = {
        **common,
        "rank": events.rank,
        "id": ids,
        "labels": label_sets,
        "lane": events.lane,
        "source_index": events.source_index,
        "start_ns": events.start,
        "end_ns": events.end,
        "duration_ns": events.end - events.start,
        "self_ns": model.stack.self_time(events),
        "clipped_ns": pa.array(events.clipped, mask=events.clipped == 0),
        **_launched_columns(model),
        "step": nullable(model.steps.of_event),
        "correlation": nullable(events.written_correlation),
        "sequence_number": nullable(events.sequence_number),
        **{name: table[name].combine_chunks() for name in CARRIED_COLUMNS if name in table.column_names},
        **gpu_work_columns(table, events, model.launches),
        **{name: column.take(position) for name, column in _segment_columns(model, frames, pauses)},
    }
    carried = {p.name: p for p in (*node_labels.EVENT.properties, *node_labels.SEGMENT.properties)}
    return make_table(columns, carried.values(), len(events))


def segment_nodes(
    model: Solution, nodes: SegmentNodes, frames: Frames, pauses: Pauses, common: Columns
) -> pa.Table:
    """Make one row for each segment that is not an event's node: pieces, waits and gaps."""
    segments, events = model.segments, model.events
    keep = ~nodes.merged
    kept = pa.array(keep)
    event, is_work = segments.event[keep], (segments.kind == WORK)[keep]
    gap_name = placed_behind(len(events.name.values), segments.gap_name[keep])
    gap, lane = len(events.category.values), segments.lane[keep]
    columns = {
        **common,
        "rank": model.lanes.rank[lane],
        "id": nodes.node[keep],
        "labels": arrow_texts(pauses.is_one[keep], _SEGMENT_LABELS),
        "lane": lane,
        "start_ns": segments.start[keep],
        "end_ns": segments.end[keep],
        **{name: column.filter(kept) for name, column in _segment_columns(model, frames, pauses)},
        "name": arrow_texts(
            np.where(is_work, events.name.codes[event], gap_name), [*events.name.values, *GAP_NAMES]
        ),
        "category": arrow_texts(
            np.where(is_work, events.category.codes[event], gap), [*events.category.values, GAP]
        ),
        "source_index": pa.array(events.source_index[event], mask=~is_work),
    }
    return make_table(columns, node_labels.SEGMENT.properties, int(keep.sum()))


def chain_nodes(model: Solution, first: Ints, ids: Ints, common: Columns) -> pa.Table:
    """Make one row for each chain; `first` holds the first segment of each."""
    segments = model.segments
    last, lane = np.append(first[1:], len(segments)) - 1, segments.lane[first]
    columns = {
        **common,
        "rank": model.lanes.rank[lane],
        "id": ids,
        "labels": label_column("Chain", len(first)),
        "chain": np.arange(len(first)),
        "lane": lane,
        "start_ns": segments.start[first],
        "end_ns": segments.end[last],
    }
    return make_table(columns, node_labels.CHAIN.properties, len(first))


def frame_nodes(model: Solution, frames: Frames, ids: Ints, common: Columns) -> pa.Table:
    """Make one row for each frame, in the order of frame ids: a frame stands after its parent."""
    columns = {
        **common,
        "id": ids,
        "labels": label_column("Frame", len(frames)),
        "frame": np.arange(len(frames)),
        "parent": pa.array(frames.parent, mask=frames.parent < 0),
        "depth": frames.depth,
        "name": frames.name.arrow(),
        "category": frames.category.arrow(),
        "lane": frames.lane,
        "rank": model.lanes.rank[frames.lane],
        "operator": pa.array(frames.operator, mask=frames.operator < 0),
        "path_events": _path_events(model, frames),
    }
    return make_table(columns, node_labels.FRAME.properties, len(frames))


def _path_events(model: Solution, frames: Frames) -> Ints:
    """Count the events of each frame that take time of their own on the critical path."""
    segments = model.segments
    counted = model.on_path & (segments.kind == WORK) & (segments.end > segments.start)
    frame = np.full(len(model.events), len(frames))
    frame[segments.event[counted]] = frames.of_segment[counted]
    return np.bincount(frame, minlength=len(frames) + 1)[:-1]


def allocation_nodes(found: Allocations, ids: Ints, common: Columns) -> pa.Table:
    """Make one row for each memory row, by rank and time."""
    kinds, kind = np.unique(found.device_type, return_inverse=True)
    columns = {
        **common,
        "id": ids,
        "labels": label_column("Allocation", len(found)),
        "source_index": found.source_index,
        "at_ns": found.at,
        "rank": found.rank,
        "device_type": arrow_texts(kind, [device_type(number) for number in kinds.tolist()]),
        "device": nullable(found.device),
        "bytes": found.bytes,
        "allocated_bytes": nullable(found.allocated),
        "reserved_bytes": nullable(found.reserved),
        "net_bytes": found.net,
        "lane": nullable(found.lane),
        "step": nullable(found.step),
    }
    return make_table(columns, node_labels.ALLOCATION.properties, len(found))
