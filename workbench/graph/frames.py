"""The segments and dependencies of an edited graph as frames."""

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Ints, Terms, placed_behind
from tracegraph.ingest.causal.graph.longest_path import Outcome
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.what_if.scenarios.edits import Edited
from tracegraph.store.schema.node_labels import SEGMENT_KINDS
from tracegraph.store.schema.schema import DEPENDENCIES
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.gaps import GAP_NAMES
from tracegraph.vocabulary.mechanisms import CODE, GIL_HOLDER, MECHANISMS

NODE, EDGE = "node", "edge"
"""Names of the indexes of the two frames."""
_KINDS = tuple(DEPENDENCIES)
_KIND_OF = np.array([_KINDS.index(mechanism.kind) for mechanism in MECHANISMS], dtype=np.int64)


def node_frame(edited: Edited, nodes: Ints) -> pd.DataFrame:
    """Make a frame of segments by their ids: what, where and when they were, and their work as edited."""
    graph, segments = edited.graph, edited.graph.segments
    event, is_work = segments.event[nodes], segments.kind[nodes] == WORK
    calls = graph.calls
    gap = placed_behind(len(calls.name.values), segments.gap_name[nodes])
    name = np.where(is_work, calls.name.codes[event], gap)
    category = np.where(is_work, calls.category.codes[event], len(calls.category.values))
    columns = {
        "name": _texts(name, [*calls.name.values, *GAP_NAMES]),
        "category": _texts(category, [*calls.category.values, GAP]),
        "rank": graph.lanes.rank[segments.lane[nodes]],
        "lane": segments.lane[nodes],
        "start_ns": segments.start[nodes],
        "end_ns": segments.end[nodes],
        "work_ns": edited.work[nodes],
        "kind": _texts(segments.kind[nodes], list(SEGMENT_KINDS)),
        "source_index": pd.arrays.IntegerArray(calls.source_index[event], ~is_work),
    }
    return pd.DataFrame(columns, index=pd.Index(nodes, name=NODE))


def edge_frame(edited: Edited, edges: Ints) -> pd.DataFrame:
    """Make a frame of dependencies by their ids; `gap_ns` and `binding` as recorded, `lag_ns` as replayed."""
    found = edited.dependencies
    mechanism = found.mechanism[edges]
    columns = {
        "cause": found.cause[edges],
        "effect": found.effect[edges],
        "kind": _texts(_KIND_OF[mechanism], list(_KINDS)),
        "mechanism": _texts(mechanism, [one.name for one in MECHANISMS]),
        "evidence": _texts((~found.recorded[edges]).astype(np.int64), list(EVIDENCE)),
        "confidence": found.confidence[edges],
        "lag_ns": found.lag[edges],
        "gap_ns": found.gap[edges],
        "binding": found.binding[edges],
    }
    return pd.DataFrame(columns, index=pd.Index(edges, name=EDGE))


def replay_frame(edited: Edited, outcome: Outcome, nodes: Ints) -> pd.DataFrame:
    """Make a frame of when segments start in a replay, their work, and whether they lead to its end."""
    start, work = outcome.start[nodes], edited.work[nodes]
    columns = {
        "start_ns": start,
        "work_ns": work,
        "completion_ns": start + work,
        "earlier_ns": edited.graph.segments.start[nodes] - start,
        "on_path": outcome.on_path[nodes],
    }
    return pd.DataFrame(columns, index=pd.Index(nodes, name=NODE))


def edges_between(edited: Edited, inside: Flags) -> Ints:
    """Find the dependencies between some segments, except those that bind nothing in a replay."""
    found = edited.dependencies
    there = edited.kept & inside[found.cause] & inside[found.effect]
    return np.flatnonzero(there & (found.mechanism != CODE[GIL_HOLDER]))


def _texts(codes: Ints | Terms, texts: list[str]) -> "pd.Categorical[str]":
    """Make categories of texts by their positions, some of which may be equal; a million rows have few."""
    distinct = list(dict.fromkeys(str(text) for text in texts))
    place = {text: at for at, text in enumerate(distinct)}
    moved = np.array([place[str(text)] for text in texts], dtype=np.int64)
    return pd.Categorical.from_codes(moved[codes], categories=pd.Index(distinct))
