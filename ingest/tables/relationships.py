"""Relationship tables of a run."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.graph.allocations import Allocations
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.tables.columns import SegmentNodes, make_table
from tracegraph.ingest.text_columns import arrow_texts
from tracegraph.store.schema import properties, schema
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.gaps import GAP_NAMES
from tracegraph.vocabulary.mechanisms import MECHANISMS


def _edge_columns(dependencies: Dependencies, chosen: Ints) -> dict[str, object]:
    return {
        "mechanism": arrow_texts(dependencies.mechanism[chosen], [m.name for m in MECHANISMS]),
        "evidence": arrow_texts(~dependencies.recorded[chosen], EVIDENCE),
        "confidence": dependencies.confidence[chosen],
        "lag_ns": dependencies.lag[chosen],
        "gap_ns": dependencies.gap[chosen],
    }


def dependency_tables(model: Solution, nodes: SegmentNodes) -> Iterator[tuple[str, pa.Table]]:
    """Yield the four kinds of dependencies between segments, one after the other."""
    found = model.dependencies
    for kind in schema.DEPENDENCIES:
        chosen = np.flatnonzero(np.array([m.kind == kind for m in MECHANISMS])[found.mechanism])
        columns = {
            "start": nodes.node[found.cause[chosen]],
            "end": nodes.node[found.effect[chosen]],
            **_edge_columns(found, chosen),
            "gap_name": _gap_names(model, chosen),
            "binding": found.binding[chosen],
        }
        yield kind, make_table(columns, _properties(kind), len(chosen))


def _gap_names(model: Solution, chosen: Ints) -> pa.Array:
    """Name the gap of each binding edge, null without a gap and for all other edges."""
    found = model.dependencies
    without = ~found.binding[chosen] | (found.gap[chosen] == 0)
    return arrow_texts(model.gap_name[chosen], GAP_NAMES, mask=without)


def _properties(relationship: str) -> tuple[properties.Property, ...]:
    return next(kind.properties for kind in schema.RELATIONSHIPS if kind.type == relationship)


def event_relationships(model: Solution, ids: Ints, nodes: SegmentNodes) -> Iterator[tuple[str, pa.Table]]:
    """Yield launches, the call tree, and the events of pieces, one after the other."""
    call, parent = model.launches.call, model.stack.parent
    work, child = np.flatnonzero(call >= 0), np.flatnonzero(parent >= 0)
    piece = np.flatnonzero(~nodes.merged & (model.segments.event >= 0))
    yield "LAUNCHED", pa.table({"start": ids[call[work]], "end": ids[work]})
    yield "CHILD_OF", pa.table({"start": ids[child], "end": ids[parent[child]]})
    yield "PART_OF", pa.table({"start": nodes.node[piece], "end": ids[model.segments.event[piece]]})


def leads_to(model: Solution, first: Ints, ids: Ints) -> pa.Table:
    """Make the binding edge of every chain's first segment, between the chains."""
    edge = model.binding.edge[first]
    bound = edge >= 0
    edge, found = edge[bound], model.dependencies
    cause = found.cause[edge]
    columns = {
        "start": ids[model.binding.chain[cause]],
        "end": ids[bound],
        "at_ns": model.segments.completion[cause],
        "dependency": arrow_texts(found.mechanism[edge], [m.kind for m in MECHANISMS]),
        **_edge_columns(found, edge),
        "gap_name": _gap_names(model, edge),
    }
    return make_table(columns, _properties("LEADS_TO"), len(edge))


def during(found: Allocations, event_ids: Ints, allocation_ids: Ints) -> pa.Table:
    """Make one row for each memory row at which an event was open: from it to that event."""
    inside = np.flatnonzero(found.event >= 0)
    return pa.table({"start": allocation_ids[inside], "end": event_ids[found.event[inside]]})
