"""The graph of a run as node and relationship tables, from the causal model."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tracegraph.ingest.binding import Dependencies
from tracegraph.ingest.dependencies.edges import MECHANISMS
from tracegraph.ingest.events import NONE, Flags, Ints, Texts
from tracegraph.ingest.model import Model
from tracegraph.ingest.segments import GAP_NAMES, KINDS, WORK
from tracegraph.ingest.trace import TraceFile
from tracegraph.store import schema
from tracegraph.store.tables import GraphTables, arrow_type

Columns = Mapping[str, object]


@dataclass(frozen=True)
class RunFacts:
    """What the Run node says beyond the model."""

    name: str
    created: str
    tool_version: str
    integrity: list[dict[str, object]]


def _nullable(values: Ints) -> pa.Array:
    return pa.array(values, mask=values == NONE)


def _table(columns: Columns, properties: Iterable[schema.Property], count: int) -> pa.Table:
    """Columns in the schema's order and types; a scalar is repeated, an absent property left out."""
    arrays: dict[str, pa.Array] = {}
    for name, kind in (("id", pa.int64()), ("labels", None), ("start", pa.int64()), ("end", pa.int64())):
        if name in columns:
            arrays[name] = _array(columns[name], kind, count)
    for known in properties:
        if known.name in columns:
            arrays[known.name] = _array(columns[known.name], arrow_type(known.type), count)
    unknown = columns.keys() - arrays.keys()
    if unknown:
        raise KeyError(f"columns {sorted(unknown)} are not in the schema")
    return pa.table(arrays)


def _array(value: object, kind: pa.DataType | None, count: int) -> pa.Array:
    if isinstance(value, (str, int)):
        return pa.array([value] * count, type=kind)
    array = value if isinstance(value, (pa.Array, pa.ChunkedArray)) else pa.array(value)
    return array.cast(kind) if kind is not None and array.type != kind else array


def _labels(texts: Texts | str, count: int) -> pa.Array:
    return pa.array(
        [texts] * count if isinstance(texts, str) else texts, type=pa.string()
    ).dictionary_encode()


class _Ids:
    """Hands out node ids, table after table."""

    def __init__(self) -> None:
        self.next = 0

    def take(self, count: int) -> Ints:
        ids = np.arange(self.next, self.next + count, dtype=np.int64)
        self.next += count
        return ids


@dataclass(frozen=True)
class _SegmentNodes:
    """Which segments are their event's node, and the node id of each segment."""

    merged: Flags
    node: Ints


def _merge_with_events(model: Model) -> Flags:
    """A segment is its event's own node when it is work and spans the whole event."""
    segments, events = model.segments, model.events
    event = segments.event
    merged: Flags = (
        (event >= 0)
        & (segments.kind == WORK)
        & (segments.start == events.start[event])
        & (segments.end == events.end[event])
    )
    return merged


def build_graph(trace: TraceFile, model: Model, facts: RunFacts) -> GraphTables:
    """Node and relationship tables of a run with one rank; ids in the order of `schema.NODES`."""
    ids = _Ids()
    run_id, trace_id = ids.take(1), ids.take(1)
    lane_ids = ids.take(len(model.lanes.frame))
    step_ids = ids.take(len(model.steps.number))
    event_ids = ids.take(len(model.events))
    merged = _merge_with_events(model)
    segment_node = np.empty(len(model.segments), dtype=np.int64)
    segment_node[merged] = event_ids[model.segments.event[merged]]
    segment_node[~merged] = ids.take(int((~merged).sum()))
    segments = _SegmentNodes(merged, segment_node)
    chain_first = np.flatnonzero(np.append(True, model.binding.chain[1:] != model.binding.chain[:-1]))
    chain_ids = ids.take(len(chain_first))
    common = {"run": facts.name, "rank": trace.rank}
    nodes = {
        "Run": pa.table({}),
        "Trace": _trace_node(trace, model, trace_id, common),
        "Lane": _lane_nodes(model, lane_ids, common),
        "Step": _step_nodes(model, step_ids, common),
        "Event": _event_nodes(trace, model, event_ids, segments, common),
        "Segment": _segment_nodes(model, segments, common),
        "Chain": _chain_nodes(model, chain_first, chain_ids, common),
    }
    relationships = {
        **_dependency_tables(model, segments),
        **_event_relationships(model, event_ids, segments),
        "LEADS_TO": _leads_to(model, chain_first, chain_ids),
        "OF_RUN": pa.table({"start": trace_id, "end": run_id}),
        "OF_TRACE": pa.table({"start": lane_ids, "end": np.repeat(trace_id, len(lane_ids))}),
    }
    graph = GraphTables(facts.name, nodes, relationships)
    nodes["Run"] = _run_node(graph, model, facts, run_id, {})
    return replace(
        graph, nodes={**nodes, "Run": _run_node(graph, model, facts, run_id, graph.count_labels())}
    )


def _run_node(
    graph: GraphTables, model: Model, facts: RunFacts, ids: Ints, by_label: dict[str, int]
) -> pa.Table:
    columns = {
        "id": ids,
        "labels": _labels("Run", 1),
        "name": facts.name,
        "state": "ready",
        "created": facts.created,
        "ranks": 1,
        "window_start_ns": model.window.start,
        "window_end_ns": model.window.end,
        "cross_thread": "evidence",
        "tool_version": facts.tool_version,
        "schema_version": schema.SCHEMA_VERSION,
        "events": len(model.events),
        "nodes": graph.count_nodes(),
        "nodes_by_label": json.dumps(by_label),
        "relationships": json.dumps(graph.count_relationships()),
        "integrity": json.dumps(facts.integrity),
    }
    return _table(columns, schema.RUN.properties, 1)


def _trace_node(trace: TraceFile, model: Model, ids: Ints, common: Columns) -> pa.Table:
    columns = {
        **common,
        "id": ids,
        "labels": _labels("Trace", 1),
        "file": trace.path,
        "sha256": trace.sha256,
        "clock_offset_ns": model.clock_offset_ns,
        "devices": json.dumps(trace.devices),
        "versions": json.dumps(trace.versions),
    }
    return _table(columns, schema.TRACE.properties, 1)


def _lane_nodes(model: Model, ids: Ints, common: Columns) -> pa.Table:
    frame = model.lanes.frame
    columns = {
        **common,
        "id": ids,
        "labels": _labels("Lane", len(frame)),
        "lane": np.arange(len(frame)),
        **{name: pa.array(frame[name], from_pandas=True) for name in frame.columns},
    }
    return _table(columns, schema.LANE_NODE.properties, len(frame))


def _step_nodes(model: Model, ids: Ints, common: Columns) -> pa.Table:
    steps = model.steps
    columns = {
        **common,
        "id": ids,
        "labels": _labels("Step", len(ids)),
        "number": steps.number,
        "start_ns": steps.start,
        "end_ns": steps.end,
        "window_end_ns": steps.window_end,
    }
    return _table(columns, schema.STEP.properties, len(ids))


def _segment_columns(model: Model) -> dict[str, pa.Array]:
    """Properties that only segments have, one entry a segment."""
    segments = model.segments
    return {
        "work_ns": pa.array(segments.work),
        "kind": pa.array(np.array(KINDS, dtype=object)[segments.kind], type=pa.string()),
        "slack_ns": pa.array(model.slack),
        "margin_ns": _nullable(model.binding.margin),
        "chain": pa.array(model.binding.chain),
        "on_critical_path": pa.array(model.on_path),
    }


def _event_nodes(
    trace: TraceFile, model: Model, ids: Ints, segments: _SegmentNodes, common: Columns
) -> pa.Table:
    events, table = model.events, trace.events
    categories, code = np.unique(events.category.astype(str), return_inverse=True)
    named = [f"Event;{schema.CATEGORY_LABELS.get(c, schema.OTHER_LABEL)}" for c in categories.tolist()]
    own = np.full(len(events), -1, dtype=np.int64)
    own[model.segments.event[segments.merged]] = np.flatnonzero(segments.merged)
    labels = pa.DictionaryArray.from_arrays(
        pa.array((code + len(named) * (own >= 0)).astype(np.int32)),
        pa.array([*named, *(f"{label};Segment" for label in named)]),
    )
    position = pa.array(own, mask=own < 0)
    columns = {
        **common,
        "id": ids,
        "labels": labels,
        "lane": events.lane,
        "source_index": events.source_index,
        "name": table["name"].combine_chunks(),
        "category": table["category"].combine_chunks(),
        "start_ns": events.start,
        "end_ns": events.end,
        "duration_ns": events.end - events.start,
        "self_ns": model.stack.self_time(events),
        "step": _nullable(model.steps.of_event),
        "correlation": _nullable(events.correlation),
        "sequence_number": _nullable(events.sequence_number),
        **{name: table[name].combine_chunks() for name in ("shapes", "bytes", "collective", "group")},
        **{name: table[name].combine_chunks() for name in ("elements", "dtype")},
        **{name: column.take(position) for name, column in _segment_columns(model).items()},
    }
    properties = {p.name: p for p in (*schema.EVENT.properties, *schema.SEGMENT.properties)}
    return _table(columns, properties.values(), len(events))


def _segment_nodes(model: Model, nodes: _SegmentNodes, common: Columns) -> pa.Table:
    segments, events = model.segments, model.events
    keep = ~nodes.merged
    event, is_work = segments.event[keep], (segments.kind == WORK)[keep]
    gap_names = np.array(GAP_NAMES, dtype=object)[segments.gap_name[keep]]
    columns = {
        **common,
        "id": nodes.node[keep],
        "labels": _labels("Segment", int(keep.sum())),
        "lane": segments.lane[keep],
        "start_ns": segments.start[keep],
        "end_ns": segments.end[keep],
        **{name: column.filter(pa.array(keep)) for name, column in _segment_columns(model).items()},
        "name": pa.array(np.where(is_work, events.name[event], gap_names), type=pa.string()),
        "category": pa.array(np.where(is_work, events.category[event], "gap"), type=pa.string()),
        "source_index": pa.array(events.source_index[event], mask=~is_work),
    }
    return _table(columns, schema.SEGMENT.properties, int(keep.sum()))


def _chain_nodes(model: Model, first: Ints, ids: Ints, common: Columns) -> pa.Table:
    segments = model.segments
    last = np.append(first[1:], len(segments)) - 1
    columns = {
        **common,
        "id": ids,
        "labels": _labels("Chain", len(first)),
        "chain": np.arange(len(first)),
        "lane": segments.lane[first],
        "start_ns": segments.start[first],
        "end_ns": segments.end[last],
    }
    return _table(columns, schema.CHAIN.properties, len(first))


def _edge_columns(dependencies: Dependencies, chosen: Ints | Flags) -> dict[str, object]:
    names = np.array([m.name for m in MECHANISMS], dtype=object)
    return {
        "mechanism": pa.array(names[dependencies.mechanism[chosen]], type=pa.string()),
        "evidence": pa.array(
            np.where(dependencies.recorded[chosen], *schema.EVIDENCE).astype(object), type=pa.string()
        ),
        "confidence": dependencies.confidence[chosen],
        "lag_ns": dependencies.lag[chosen],
        "gap_ns": dependencies.gap[chosen],
    }


def _dependency_tables(model: Model, nodes: _SegmentNodes) -> dict[str, pa.Table]:
    found = model.dependencies
    kinds = np.array([m.kind for m in MECHANISMS], dtype=object)[found.mechanism]
    tables = {}
    for kind in schema.DEPENDENCIES:
        chosen = kinds == kind
        columns = {
            "start": nodes.node[found.cause[chosen]],
            "end": nodes.node[found.effect[chosen]],
            **_edge_columns(found, chosen),
            "binding": found.binding[chosen],
        }
        tables[kind] = _table(columns, _properties(kind), int(chosen.sum()))
    return tables


def _properties(relationship: str) -> tuple[schema.Property, ...]:
    return next(kind.properties for kind in schema.RELATIONSHIPS if kind.type == relationship)


def _event_relationships(model: Model, ids: Ints, nodes: _SegmentNodes) -> dict[str, pa.Table]:
    call, parent = model.launches.call, model.stack.parent
    work, child = np.flatnonzero(call >= 0), np.flatnonzero(parent >= 0)
    piece = np.flatnonzero(~nodes.merged & (model.segments.event >= 0))
    return {
        "LAUNCHED": pa.table({"start": ids[call[work]], "end": ids[work]}),
        "CHILD_OF": pa.table({"start": ids[child], "end": ids[parent[child]]}),
        "PART_OF": pa.table({"start": nodes.node[piece], "end": ids[model.segments.event[piece]]}),
    }


def _leads_to(model: Model, first: Ints, ids: Ints) -> pa.Table:
    """The binding edge of every chain's first segment, between the chains."""
    edge = model.binding.edge[first]
    bound = edge >= 0
    edge, found = edge[bound], model.dependencies
    cause = found.cause[edge]
    kinds = np.array([m.kind for m in MECHANISMS], dtype=object)[found.mechanism[edge]]
    columns = {
        "start": ids[model.binding.chain[cause]],
        "end": ids[bound],
        "at_ns": model.segments.completion[cause],
        "dependency": pa.array(kinds, type=pa.string()),
        **_edge_columns(found, edge),
    }
    return _table(columns, _properties("LEADS_TO"), len(edge))
