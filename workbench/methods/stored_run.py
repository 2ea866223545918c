"""Turns traces into a stored run."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

from tracegraph.base.progress import Progress
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.sources.source import AnySource, as_source
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.rebuild.estimate import Load
from tracegraph.store.managed.server.failure_causes import explained
from tracegraph.store.session import begun_ahead
from tracegraph.store.storing import store_and_open
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.methods.server_ahead import needs_server


@dataclass(frozen=True)
class StoredRun:
    """A run that was just stored, open in the database.

    `timings_s` are the seconds of each stage so far; `integrity` the rows of what was odd in the input.
    """

    database: Database
    tables: GraphTables
    timings_s: dict[str, float]
    integrity: Sequence[Mapping[str, object]]


@contextmanager
def stored_run(
    workspace: Workspace,
    connection: ConnectionSettings,
    traces: Sequence[AnySource],
    name: str | None,
    progress: Progress,
    options: IngestOptions,
    load: Load | None,
) -> Iterator[StoredRun]:
    """Ingest the traces as one run, store it and open the database.

    Raises
    ------
    InputError
        A trace cannot be used, several are not the ranks of one job, the name belongs to other content, or
        no annotation matches the marker of steps.
    StoreError
        The database or the workspace cannot be used.
    """
    # A report on a stored run reads no file, and imports none of what does.
    from tracegraph.ingest.pipeline import ingest_run  # noqa: PLC0415

    sources = [as_source(trace) for trace in traces]
    with ExitStack() as stack:
        folder = stack.enter_context(workspace.spool())
        is_added = connection.uri is None and needs_server(workspace, sources, load)
        with explained(workspace), begun_ahead(workspace) if is_added else nullcontext():
            tables, manifest = ingest_run(sources, name, progress, options, folder)
        begun = time.perf_counter()
        database = stack.enter_context(
            store_and_open(workspace, connection, tables, manifest, progress, load)
        )
        seconds = round(time.perf_counter() - begun, 3)
        timings_s = {**ingest_timings(manifest), "storing the run": seconds}
        yield StoredRun(database, tables, timings_s, _integrity(manifest))


def ingest_timings(manifest: Mapping[str, object]) -> dict[str, float]:
    """Return the seconds of each stage of the ingest, as a manifest states them; empty if it states none."""
    timings = manifest.get("timings_s")
    return dict(timings) if isinstance(timings, dict) else {}


def _integrity(manifest: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    rows = manifest["integrity"]
    assert isinstance(rows, list)
    return rows
