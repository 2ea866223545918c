"""A graph for replays that is read back from a run's tables is the model's, field by field."""

import dataclasses
from pathlib import Path

import pytest
import tiny
from hypothesis import assume, given
from hypothesis import strategies as st
from random_traces import rows

from tracegraph.base.errors import StoreError
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.causal.rules import POLICIES
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.ranks.rank_part import build_checked
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.tables.graph import RunFacts, add_run, build_graph
from tracegraph.ingest.text_columns import TextColumn
from tracegraph.ingest.trace import TraceFile
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of
from tracegraph.ingest.what_if.scenarios.kept_graph import read_graph
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import open_workspace

EXAMPLES = Path(__file__).parents[2] / "examples" / "traces"


def tables_of(trace: TraceFile, model: Model) -> GraphTables:
    tables = build_graph(trace, model, "run")
    add_run(tables, model, RunFacts("2026-01-01T00:00:00.000000+00:00", "0", []))
    return tables


def fields(graph: ReplayGraph) -> dict[str, object]:
    """All fields as lists; names of gaps only where they mean something."""
    found: dict[str, object] = {"steps": graph.steps, "window": graph.window, "sink": graph.sink}
    for part in ("calls", "segments", "dependencies", "frames"):
        for field in dataclasses.fields(getattr(graph, part)):
            value = getattr(getattr(graph, part), field.name)
            texts = isinstance(value, TextColumn)
            found[f"{part}.{field.name}"] = [str(one) for one in value] if texts else value.tolist()
    silent = graph.segments.kind != WORK
    found["segments.gap_name"] = graph.segments.gap_name[silent].tolist()
    found["gap_name"] = graph.gap_name[graph.dependencies.gap > 0].tolist()
    found["lanes"] = graph.lanes.frame.astype(object).where(graph.lanes.frame.notna(), None).to_dict("list")
    return found


def check(tables: GraphTables, model: Model) -> None:
    stored, made = fields(read_graph(tables)), fields(graph_of(model))
    lanes, expected = stored.pop("lanes"), made.pop("lanes")
    assert isinstance(lanes, dict)
    assert isinstance(expected, dict)
    assert {name: lanes[name] for name in expected} == expected
    assert stored == made


@pytest.mark.parametrize("name", ["simulated_gpu", "slow_loader", "train_small", "two_threads"])
def test_examples_from_memory_and_from_a_folder(name: str, tmp_path: Path) -> None:
    integrity = Integrity(name)
    trace = read_trace(EXAMPLES / f"{name}.json.gz", integrity)
    model = build_checked(trace, integrity)
    tables = tables_of(trace, model)
    workspace = open_workspace(tmp_path / "workspace")
    workspace.save_run(tables, {"run": "run", "created": "1"})
    check(tables, model)
    check(workspace.load_run("run"), model)


@given(rows(), st.sampled_from(list(POLICIES)))
def test_random_traces(events: list[tiny.Row], policy: str) -> None:
    assume(any(row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"] for row in events))
    model = tiny.model(*events, policy=policy)
    check(tables_of(tiny.trace(*events), model), model)


def test_a_run_of_an_earlier_version() -> None:
    model = tiny.model(tiny.event("op", 0, 3))
    tables = tables_of(tiny.trace(tiny.event("op", 0, 3)), model)
    del tables.nodes["Frame"]
    with pytest.raises(StoreError, match="'run' was stored by an earlier version") as raised:
        read_graph(tables)
    assert raised.value.hint == "ingest its trace again"
