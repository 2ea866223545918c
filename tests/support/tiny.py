"""Traces of a few rows for tests: times in µs, threads and streams by number."""

from collections.abc import Sequence

import pyarrow as pa

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import Model, build_model
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.causal.rules import EVIDENCE
from tracegraph.ingest.causal.rules.stated import read_stated
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.tables.graph import RunFacts, add_run, build_graph
from tracegraph.ingest.trace import EVENT_SCHEMA, FLOW_SCHEMA, OFF_CPU_SCHEMA, ORDER_SCHEMA, TraceFile
from tracegraph.store.schema.node_labels import SEGMENT_KINDS
from tracegraph.store.tables import GraphTables
from tracegraph.vocabulary.gaps import GAP_NAMES
from tracegraph.vocabulary.mechanisms import MECHANISMS

Row = dict[str, object]
OFF = "off_cpu"
"""The category here of rows that are no events, but stretches in which a thread did not run."""


def event(
    name: str, start: float, end: float, *, category: str = "cpu_op", thread: int = 1, **more: object
) -> Row:
    """A row on a CPU thread."""
    times = {"start_ns": round(start * 1000), "end_ns": round(end * 1000)}
    return {"name": name, "category": category, "pid": "1", "tid": str(thread), **times, **more}


def call(name: str, start: float, end: float, correlation: int, *, thread: int = 1) -> Row:
    """A CUDA runtime call."""
    return event(name, start, end, category="cuda_runtime", thread=thread, correlation=correlation)


def kernel(
    name: str, start: float, end: float, correlation: int | None, *, stream: int = 7, **more: object
) -> Row:
    """A GPU activity, a kernel unless `category` says otherwise."""
    row = event(name, start, end, category="kernel", correlation=correlation, device=0, stream=stream)
    return {**row, "pid": "0", "tid": str(stream), **more}


def sync(kind: str, start: float, end: float, correlation: int, *, stream: int, **more: object) -> Row:
    """A cuda_sync row."""
    row = event(kind, start, end, category="cuda_sync", correlation=correlation, device=0, stream=stream)
    return {**row, "pid": "0", "tid": str(stream), **more}


def step(number: int, start: float, end: float, *, thread: int = 1) -> Row:
    """A ProfilerStep annotation."""
    return event(f"ProfilerStep#{number}", start, end, category="user_annotation", thread=thread)


def off_cpu(start: float, end: float, *, ready: bool | None = None, thread: int = 1) -> Row:
    """A stretch in which the system did not run a thread; `ready`: whether the thread could have run."""
    return event("off the CPU", start, end, category=OFF, thread=thread, ready=ready)


def flow(kind: str, cause: Row, effect: Row, *, number: int = 1) -> list[Row]:
    """The two ends of a flow from the start of one row to that of another."""
    return [
        {"kind": kind, "id": str(number), "is_start": row is cause, "ts_ns": row["start_ns"]}
        | {name: row[name] for name in ("pid", "tid")}
        for row in (cause, effect)
    ]


def trace(*rows: Row, flows: Sequence[Row] = ()) -> TraceFile:
    """A file with these rows, in this order, and flows.

    `follows` of a row names the row that it follows by the program of its job, `may_follow` one that it may.
    """
    stretches = [row for row in rows if row["category"] == OFF]
    rows = tuple(row for row in rows if row["category"] != OFF)
    full = [{"source_index": i, **row} for i, row in enumerate(rows)]
    tables = pa.Table.from_pylist(full, EVENT_SCHEMA), pa.Table.from_pylist(list(flows), FLOW_SCHEMA)
    place = {str(row["name"]): i for i, row in enumerate(rows)}
    orders = [
        {"cause": place[str(row[key])], "effect": i, "stated": key == "follows"}
        for i, row in enumerate(rows)
        for key in ("follows", "may_follow")
        if key in row
    ]
    listed = pa.Table.from_pylist(orders, ORDER_SCHEMA)
    off = pa.Table.from_pylist(stretches, OFF_CPU_SCHEMA)
    return TraceFile("tiny.json", "0" * 64, 0, *tables, orders=listed, off_cpu=off)


def model(*rows: Row, policy: str = EVIDENCE, flows: Sequence[Row] = ()) -> Model:
    """The causal model of these rows under a cross-thread policy."""
    of = trace(*rows, flows=flows)
    events, lanes = read_events(of)
    return build_model(events, lanes, Integrity("tiny.json"), policy, read_stated(of, lanes))


def tables(of: TraceFile, run: str = "run") -> GraphTables:
    """The tables of a run of this file."""
    events, lanes = read_events(of)
    found = build_model(events, lanes, Integrity("tiny.json"), stated=read_stated(of, lanes))
    graph = build_graph(of, found, run)
    add_run(graph, found, RunFacts("2026", "0", []))
    return graph


def label(of: Model, segment: int) -> str:
    """A segment as `name@start` in µs, a wait or gap as `(gap name)@start`."""
    segments = of.segments
    event_index = segments.event[segment]
    gap = f"({GAP_NAMES[segments.gap_name[segment]]})"
    name = of.events.name[event_index] if segments.kind[segment] == WORK else gap
    return f"{name}@{segments.start[segment] / 1000:g}"


def dependencies(of: Model, *kinds: str, binding: bool | None = None) -> set[tuple[str, str, str]]:
    """The dependencies of some kinds as (cause, mechanism, effect)."""
    found = of.dependencies
    return {
        (label(of, found.cause[i]), MECHANISMS[found.mechanism[i]].name, label(of, found.effect[i]))
        for i in range(len(found))
        if MECHANISMS[found.mechanism[i]].kind in kinds and binding in (None, bool(found.binding[i]))
    }


def path(of: Model) -> list[str]:
    """Segments with a length on the critical path, in time order."""
    segments = of.segments
    chosen = [i for i in range(len(segments)) if of.on_path[i] and segments.end[i] > segments.start[i]]
    return [label(of, i) for i in sorted(chosen, key=lambda i: int(segments.start[i]))]


def kinds(of: Model) -> dict[str, str]:
    """Kind of every segment on a thread, by label."""
    segments = of.segments
    return {
        label(of, i): SEGMENT_KINDS[segments.kind[i]] for i in range(len(segments)) if segments.on_thread[i]
    }
