"""From a prediction to the tables of a scenario: the changed graph as a run of its own."""

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa

from tracegraph.base.parallel import beside
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.measures.measures import stored_measures
from tracegraph.ingest.tables.graph import RunFacts, add_run, build_tables
from tracegraph.ingest.trace import FileFacts
from tracegraph.ingest.what_if.changes.change import Change, Span, changed_dependencies
from tracegraph.ingest.what_if.changes.changed import replay_to_end
from tracegraph.ingest.what_if.changes.done_ahead import on_own_lanes, told_on_own_lanes
from tracegraph.ingest.what_if.changes.edit import inside_span
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.predictions.predict import Prediction
from tracegraph.ingest.what_if.predictions.what_next import find_what_next
from tracegraph.ingest.what_if.scenarios.scenario import Scenario, build_scenario
from tracegraph.store.schema.schema import SCHEMA_VERSION
from tracegraph.store.tables import GraphTables

_TEXTS = ("name", "category", "shapes", "collective", "group", "dtype", "kernel_type", "work")
_NUMBERS = ("bytes", "bandwidth", "elements", "flops", "moved_bytes")


def find_scenario(
    tables: GraphTables, graph: ReplayGraph, span: Span, change: Change, prediction: Prediction
) -> Scenario:
    """What the naive replay of a change makes of the run with these tables, checked as a model is.

    Raises:
        InputError: what other lanes do ahead does more than take time.
        TracegraphError: the changed graph breaks an invariant, a fault of tracegraph.
    """
    found, gap_name = changed_dependencies(graph, span, on_own_lanes(graph, change))
    start, work = prediction.after.start, prediction.after_work
    if change.edit is not None:
        start, work = told_on_own_lanes(graph, inside_span(change.edit, span.inside), start, work)
    scenario = build_scenario(tables, graph, replay_to_end(graph, start, work, found, gap_name))
    check_model(scenario)
    return scenario


def scenario_tables(
    tables: GraphTables, scenario: Scenario, name: str, change: Mapping[str, object], folder: Path
) -> tuple[GraphTables, dict[str, object]]:
    """The tables of a scenario and its manifest, as `ingest_run` returns those of a trace.

    `tables`: those of the run that it is a change of. `change`: the question and what was predicted.
    """
    files = _files(tables)
    stated, allocations = _stated(tables), scenario.allocations
    graph = build_tables(files, stated, allocations, scenario, name, folder, stored_measures(tables))
    facts = RunFacts(
        created=datetime.now(timezone.utc).isoformat(timespec="microseconds"),
        tool_version=version("tracegraph"),
        integrity=json.loads(tables.nodes["Run"]["integrity"][0].as_py()),
        step_marker=tables.nodes["Run"]["step_marker"][0].as_py(),
        scenario_of=tables.run,
        change=json.dumps(change),
    )
    add_run(graph, scenario, facts)
    manifest: dict[str, object] = {
        "run": name,
        "created": facts.created,
        "sources": [file.as_source() for file in files],
        "integrity": facts.integrity,
        "timings_s": {},
        "tool_version": facts.tool_version,
        "schema_version": SCHEMA_VERSION,
        "step_marker": facts.step_marker,
        "scenario_of": facts.scenario_of,
        "change": facts.change,
    }

    def what_next() -> Mapping[str, str]:
        return {"what_next": json.dumps(find_what_next(scenario))}

    late = beside(what_next)
    return replace(graph, late=late), manifest


def _files(tables: GraphTables) -> list[FileFacts]:
    """What the run's tables say of its files."""
    names = [field.name for field in fields(FileFacts)]
    rows = tables.nodes["Trace"].to_pylist()
    return [
        FileFacts(
            **{name: row[name] for name in names if name in row}
            | {name: json.loads(row[name]) for name in ("devices", "device_memory", "versions")}
            | {"path": row["file"]}
        )
        for row in rows
    ]


def _stated(tables: GraphTables) -> pa.Table:
    """What the run's events state."""
    events = tables.read_nodes("Event", (*_TEXTS, *_NUMBERS))
    columns = {name: _encoded(events[name]) for name in _TEXTS}
    return pa.table({**columns, **{name: events[name] for name in _NUMBERS}})


def _encoded(column: pa.ChunkedArray) -> pa.Array:
    """Texts as one dictionary."""
    texts = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = texts.unify_dictionaries().chunks
    if not chunks:
        return pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string()))
    indices = np.concatenate([chunk.indices.fill_null(-1).to_numpy() for chunk in chunks])
    return pa.DictionaryArray.from_arrays(
        pa.array(indices.astype(np.int32), mask=indices < 0), chunks[0].dictionary
    )
