"""The TRACE arguments of a command, and the run that they become."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tracegraph.cli.context import Context
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.store.connection import Database
from tracegraph.store.errors import InputError
from tracegraph.store.progress import Progress
from tracegraph.store.session import store_and_open
from tracegraph.store.tables import GraphTables


@dataclass(frozen=True)
class StoredRun:
    """A run that was just stored, open in the database."""

    database: Database
    name: str
    counts: GraphTables
    manifest: dict[str, object]


@contextmanager
def stored_run(
    context: Context, traces: Sequence[Path], name: str | None, progress: Progress
) -> Iterator[StoredRun]:
    """Ingest the traces as one run, store it and open the database.

    Raises:
        InputError: a trace cannot be used, more than one is given, or the name belongs to other content.
        StoreError: the database or the workspace cannot be used.
    """
    if len(traces) > 1:
        raise InputError(
            f"{len(traces)} traces were given, but several ranks are not supported yet",
            "give one trace, and each rank's as a run of its own",
        )
    tables, manifest = ingest_run([trace.absolute() for trace in traces], name, progress)
    with store_and_open(context.workspace, context.connection, tables, manifest, progress) as database:
        yield StoredRun(database, tables.run, tables, manifest)
