"""From a prediction to the tables of a scenario: the changed graph as a run of its own."""

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa

from tracegraph.base.errors import InputError
from tracegraph.base.parallel import Later
from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.segments import WAIT
from tracegraph.ingest.measures.measures import stored_measures
from tracegraph.ingest.tables.graph import RunFacts, add_run, build_tables
from tracegraph.ingest.tables.nodes import CARRIED_COLUMNS
from tracegraph.ingest.trace import FileFacts
from tracegraph.ingest.what_if.changes.change import Change, Span, changed_dependencies
from tracegraph.ingest.what_if.changes.edit import Edit, inside_span
from tracegraph.ingest.what_if.changes.resulting_graph import replay_to_end
from tracegraph.ingest.what_if.changes.threads import stretches
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.predictions.results import Prediction
from tracegraph.ingest.what_if.predictions.what_next import find_what_next
from tracegraph.ingest.what_if.scenarios.scenario import Scenario, build_scenario
from tracegraph.store.schema.schema import SCHEMA_VERSION
from tracegraph.store.tables import GraphTables
from tracegraph.vocabulary.mechanisms import CODE, PROGRAM_ORDER


def on_own_lanes(graph: ReplayGraph, change: Change) -> Change:
    """Keep in a change what threads do on the thread on which it was recorded.

    Works of a stream may overlap in a stored graph, those of a thread may not.
    """
    edit, on_thread = change.edit, graph.segments.on_thread
    if edit is None or not (edit.lane[on_thread] != 0).any():
        return change
    between = on_thread[edit.added.cause] & on_thread[edit.added.effect]
    added = select_rows(edit.added, ~between)
    return replace(change, edit=replace(edit, lane=np.where(on_thread, 0, edit.lane), added=added))


def told_on_own_lanes(graph: ReplayGraph, edit: Edit, start: Ints, work: Ints) -> tuple[Ints, Ints]:
    """Let work that is done ahead take as long as its thread waits for it, in starts and work of a replay.

    A stored graph has the threads that were recorded. The first segment of a batch that is not ready takes
    the time until it is, the others take none.

    Raises
    ------
    InputError
        If work that is done ahead launches, or waits for, something: nothing says on which thread it then
        does.
    """
    moved = (edit.lane != 0) & graph.segments.on_thread
    if not moved.any():
        return start, work
    if _is_entangled(graph.dependencies, moved):
        raise InputError(
            "work that other lanes do ahead, and that launches or waits for something, cannot be kept",
            "ask without --keep: the prediction is the same",
        )
    start, work = start.copy(), work.copy()
    for first, last in zip(*(one.tolist() for one in stretches(graph, moved)), strict=True):
        begun, ready = _begun(graph, start, work, first), _ready(graph, start, work, last)
        works = np.flatnonzero(graph.segments.kind[first : last + 1] != WAIT)
        at = first + int(works[0]) if len(works) else last + 1
        start[first:at], start[at : last + 1] = begun, ready
        work[first : last + 1] = 0
        if at <= last:
            start[at], work[at] = begun, ready - begun
    return start, work


def _is_entangled(found: Dependencies, moved: Flags) -> bool:
    touched = moved[found.cause] | moved[found.effect]
    return bool((touched & (found.mechanism != CODE[PROGRAM_ORDER])).any())


def _begun(graph: ReplayGraph, start: Ints, work: Ints, first: int) -> int:
    """Find when a thread gets to its segment `first`, ns."""
    lane = graph.segments.lane
    begins = first == 0 or lane[first - 1] != lane[first]
    return graph.window.start if begins else int(start[first - 1] + work[first - 1])


def _ready(graph: ReplayGraph, start: Ints, work: Ints, last: int) -> int:
    """Find when a thread continues after its segment `last`, ns."""
    lane = graph.segments.lane
    ends = last + 1 == len(lane) or lane[last + 1] != lane[last]
    return int(start[last] + work[last]) if ends else int(start[last + 1])


def find_scenario(
    tables: GraphTables, graph: ReplayGraph, span: Span, change: Change, prediction: Prediction
) -> Scenario:
    """Build what the naive replay of a change makes of the run with these tables, and check it.

    Raises
    ------
    InputError
        If work that other lanes do ahead does more than take time.
    TracegraphError
        If the changed graph breaks an invariant of models, which is a fault of tracegraph.
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
    """Make the tables of a scenario and its manifest, as `ingest_run` returns those of a trace.

    `tables`: those of the run that it changes. `change`: the question and what was predicted.
    """
    files = _files(tables)
    stated, allocations = _stated(tables), scenario.allocations
    graph = build_tables(files, stated, allocations, scenario, name, folder, stored_measures(tables))
    facts = RunFacts(
        created=datetime.now(timezone.utc).isoformat(timespec="microseconds"),
        tool_version=version("tracegraph"),
        integrity=json.loads(tables.nodes["Run"]["integrity"][0].as_py()),
        step_marker=_said(tables, "step_marker"),
        job=_said(tables, "job"),
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
        "job": facts.job,
        "scenario_of": facts.scenario_of,
        "change": facts.change,
    }

    def what_next() -> Mapping[str, str]:
        return {"what_next": json.dumps(find_what_next(scenario))}

    return replace(graph, late=Later(what_next)), manifest


def _said(tables: GraphTables, name: str) -> str | None:
    """Read a text of the Run node; a run that an earlier version stored may lack it."""
    run = tables.nodes["Run"]
    text: str | None = run[name][0].as_py() if name in run.column_names else None
    return text


def _files(tables: GraphTables) -> list[FileFacts]:
    """Read what the run's tables say of its files."""
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
    """Read what the run's events state."""
    events = tables.read_nodes("Event", CARRIED_COLUMNS)
    return pa.table({name: _encoded(events[name]) for name in CARRIED_COLUMNS})


def _encoded(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Encode texts with one dictionary; keep numbers as they are."""
    if pa.types.is_integer(column.type):
        return column
    texts = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = texts.unify_dictionaries().chunks
    if not chunks:
        return pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string()))
    indices = np.concatenate([chunk.indices.fill_null(-1).to_numpy() for chunk in chunks])
    return pa.DictionaryArray.from_arrays(
        pa.array(indices.astype(np.int32), mask=indices < 0), chunks[0].dictionary
    )
