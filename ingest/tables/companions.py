"""The tables of what companions say, and of a run that has nothing else."""

import json
from collections.abc import Mapping, Sequence

import pyarrow as pa

from tracegraph.ingest.companions.companion import CompanionFile, Told
from tracegraph.ingest.tables.columns import label_column, make_table
from tracegraph.store.schema import companion_labels, node_labels, schema
from tracegraph.store.tables import GraphTables, arrow_type

_LABELS = {one.label: one for one in companion_labels.LABELS}


def companion_tables(told: Mapping[str, Told], run: str, first_id: int) -> dict[str, pa.Table]:
    """Make the node tables of what companions say, by label; ids count on from `first_id`."""
    rows: dict[str, list[Mapping[str, object]]] = {}
    for kind, one in told.items():
        for label, own in one.rows.items():
            rows.setdefault(label, []).extend({**row, "run": run, "companion": kind} for row in own)
    tables = {}
    for label in (label for label in _LABELS if rows.get(label)):
        count = len(rows[label])
        known = _LABELS[label].properties
        columns: dict[str, object] = {
            one.name: pa.array([row.get(one.name) for row in rows[label]], arrow_type(one.type))
            for one in known
        }
        columns |= {"id": pa.array(range(first_id, first_id + count)), "labels": label_column(label, count)}
        tables[label] = make_table(columns, known, count)
        first_id += count
    return tables


def with_companions(graph: GraphTables, told: Mapping[str, Told], created: str) -> GraphTables:
    """Add what companions say to the graph of a run; what the same kinds said before is replaced.

    `created` is the time from which on answers about the run are new ones, ISO 8601, UTC.
    """
    others = sum(graph.count_nodes_of(label) for label in graph.nodes if label not in _LABELS)
    for label, table in companion_tables(told, graph.run, 0).items():
        before = _without(graph.nodes[label], told) if label in graph.nodes else table.slice(0, 0)
        graph = graph.with_nodes(label, pa.concat_tables([before, table]).unify_dictionaries())
    for label in _LABELS:  # their ids follow those of all other nodes
        if label in graph.nodes:
            table = graph.nodes[label]
            ids = pa.array(range(others, others + table.num_rows), pa.int64())
            graph = graph.with_nodes(label, table.set_column(table.column_names.index("id"), "id", ids))
            others += table.num_rows
    return _counted(graph, created)


def _without(table: pa.Table, kinds: Mapping[str, Told]) -> pa.Table:
    said = [kind not in kinds for kind in table["companion"].cast(pa.string()).to_pylist()]
    return table.filter(pa.array(said, pa.bool_()))


def _counted(graph: GraphTables, created: str) -> GraphTables:
    """Say in the Run node how many nodes there are now."""
    run = graph.nodes["Run"]
    told = {
        "created": pa.array([created]),
        "nodes": pa.array([graph.count_nodes()]),
        "nodes_by_label": pa.array([json.dumps(graph.count_labels())]),
    }
    return graph.with_nodes("Run", pa.table({**{name: run[name] for name in run.column_names}, **told}))


def lone_run(run: str, files: Sequence[CompanionFile], tool_version: str) -> GraphTables:
    """Make the graph of a run without a trace, for companions: its node, and one for each file."""
    places = range(len(files))
    traces = {
        "run": run,
        "rank": pa.array(places, pa.int64()),
        "id": pa.array([1 + place for place in places], pa.int64()),
        "labels": label_column("Trace", len(files)),
        "file": [file.path for file in files],
        "sha256": [file.sha256 for file in files],
    }
    graph = GraphTables(run, {}, {})
    graph.nodes["Trace"] = make_table(traces, node_labels.TRACE.properties, len(files))
    graph.relationships["OF_RUN"] = pa.table({"start": traces["id"], "end": pa.array([0] * len(files))})
    columns = {
        "id": pa.array([0]),
        "labels": label_column("Run", 1),
        "name": run,
        "state": "ready",
        "created": "",
        "ranks": 0,
        "window_start_ns": 0,
        "window_end_ns": 0,
        "tool_version": tool_version,
        "schema_version": schema.SCHEMA_VERSION,
        "events": 0,
        "nodes": 0,
        "nodes_by_label": "{}",
        "relationships": json.dumps(graph.count_relationships()),
        "integrity": "[]",
    }
    graph.nodes["Run"] = make_table(columns, node_labels.RUN.properties, 1)
    return graph
