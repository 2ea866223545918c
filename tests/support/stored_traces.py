"""Traces as runs of the shared database and workspace, as if tracegraph alone had written there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.ranks.rank_part import build_checked
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.tables.graph import RunFacts, add_run, build_graph
from tracegraph.ingest.trace import TraceFile
from tracegraph.queries.catalog import ask, asking
from tracegraph.queries.runs import find_window
from tracegraph.store.connection import Database
from tracegraph.store.load.delete_run import delete_run
from tracegraph.store.load.load_run import load_run
from tracegraph.store.managed.server import served_database
from tracegraph.store.workspace import Workspace

CREATED = "2026-01-01T00:00:00.000000+00:00"


@contextmanager
def stored(database: Database, workspace: Workspace, trace: TraceFile) -> Iterator[tuple[str, Model]]:
    """A trace as a run for the block, noted as a write of tracegraph's own."""
    integrity = Integrity(trace.path)
    model = build_checked(trace, integrity)
    run = f"answers-{Path(trace.path).name}"
    graph = build_graph(trace, model, run)
    add_run(graph, model, RunFacts(CREATED, "0", integrity.rows()))
    load_run(database, graph)
    workspace.save_run(graph, {"run": run, "created": CREATED})
    take_for_own(database, workspace)
    try:
        yield run, model
    finally:
        delete_run(database, run)
        workspace.delete_run(run)


@contextmanager
def file_asked(database: Database, workspace: Workspace, path: Path) -> Iterator[Callable[..., pd.DataFrame]]:
    """What asks about the whole window of a file, which is a run for the block."""
    with stored(database, workspace, read_trace(path, Integrity(path.name))) as (run, _):
        window = find_window(asking(database), run)
        yield lambda query, **values: ask(
            database, query, run=run, start_ns=window.start_ns, end_ns=window.end_ns, **values
        )


def take_for_own(database: Database, workspace: Workspace) -> None:
    """Record all that is in the database as tracegraph's own: other tests write what they like."""
    home = workspace.neo4j_home
    known = served_database.current(home)
    served_database.commit(home, replace(known, bookmark=database.bookmark(), changed=False))
