"""From trace files to the tables of a run: the one way in."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from tracegraph.ingest.causal.alternatives import find_alternatives
from tracegraph.ingest.causal.event_arrays import read_events
from tracegraph.ingest.causal.invariants import check_model
from tracegraph.ingest.causal.model import Model, RankModel, build_model
from tracegraph.ingest.causal.rules import EVIDENCE
from tracegraph.ingest.causal.what_next import find_what_next
from tracegraph.ingest.integrity.diagnosis import diagnose
from tracegraph.ingest.integrity.findings import Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.readers.registry import trace_stem
from tracegraph.ingest.tables.graph import RunFacts, add_run, build_graph
from tracegraph.ingest.trace import TraceFile
from tracegraph.ingest.what_if.potential import find_potential
from tracegraph.store.errors import InputError
from tracegraph.store.memory import reuse_dropped_columns
from tracegraph.store.parallel import beside
from tracegraph.store.progress import Progress
from tracegraph.store.schema import SCHEMA_VERSION
from tracegraph.store.tables import GraphTables

Result = TypeVar("Result")
_STAGES = ("reading the trace", "building the causal graph", "writing tables")


class _Stages:
    """Runs the stages one after the other, reports each and keeps its time in seconds."""

    def __init__(self, names: Sequence[str], progress: Progress) -> None:
        self.names, self.progress = list(names), progress
        self.timings: dict[str, float] = {}

    def run(self, name: str, work: Callable[[], Result]) -> Result:
        self.progress(name, self.names.index(name), len(self.names))
        begun = time.perf_counter()
        result = work()
        self.timings[name] = round(time.perf_counter() - begun, 3)
        self.progress(name, self.names.index(name) + 1, len(self.names))
        return result


def run_name(path: Path, sha256: str, cross_thread: str = EVIDENCE) -> str:
    """The default name: the file's without suffix, 8 hex digits of its SHA-256, and a policy of its own."""
    return f"{trace_stem(path.name)}-{sha256[:8]}" + ("" if cross_thread == EVIDENCE else f"-{cross_thread}")


def build_checked(trace: TraceFile, integrity: Integrity, cross_thread: str = EVIDENCE) -> RankModel:
    """Build the causal model of a trace, check its invariants and add to `integrity` what it finds odd."""
    model = build_model(*read_events(trace), integrity, cross_thread)
    check_model(model)
    diagnose(model, integrity)
    return model


def _what_if(model: Model) -> Mapping[str, str]:
    return {
        "alternatives": json.dumps(find_alternatives(model)),
        "what_next": json.dumps(find_what_next(model)),
        "potential": json.dumps(find_potential(model)),
    }


def ingest_run(
    paths: Sequence[Path],
    name: str | None,
    progress: Progress,
    limits: Limits = DEFAULT_LIMITS,
    cross_thread: str = EVIDENCE,
    folder: Path | None = None,
) -> tuple[GraphTables, dict[str, object]]:
    """Read the traces of one job and build its graph under one of the `CROSS_THREAD_POLICIES`.

    The tables go into `folder` where one is given, else they stay in memory. What the Run node says of other
    assumptions comes later (`GraphTables.completed`): it takes long, and so does an import.
    Returns the tables and a manifest that JSON can hold: run, created, sources (path, sha256, rank),
    integrity, timings_s, clock_offset_ns, clock_drift_ppb, tool_version, schema_version. Raises `InputError`
    for a trace that cannot be used, and for more than one trace.
    """
    if len(paths) != 1:
        raise InputError(
            f"{len(paths)} traces were given, but a run holds one rank so far",
            "ingest each rank as a run of its own",
        )
    reuse_dropped_columns()
    path = paths[0]
    integrity = Integrity(path.name)
    stages = _Stages(_STAGES, progress)
    trace = stages.run("reading the trace", lambda: read_trace(path, integrity, limits))
    model = stages.run("building the causal graph", lambda: build_checked(trace, integrity, cross_thread))
    late = beside(lambda: _what_if(model))
    run = name or run_name(path, trace.sha256, cross_thread)
    graph = stages.run("writing tables", lambda: build_graph(trace, model, run, folder))
    facts = RunFacts(
        created=datetime.now(timezone.utc).isoformat(timespec="microseconds"),
        tool_version=version("tracegraph"),
        integrity=integrity.rows(),
    )
    add_run(graph, model, facts)
    manifest: dict[str, object] = {
        "run": run,
        "created": facts.created,
        "sources": [{"path": trace.path, "sha256": trace.sha256, "rank": trace.rank}],
        "integrity": facts.integrity,
        "timings_s": stages.timings,
        "tool_version": facts.tool_version,
        "schema_version": SCHEMA_VERSION,
    }
    return replace(graph, late=late), manifest
