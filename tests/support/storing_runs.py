"""Storing a run of which nothing is asked afterwards."""

from collections.abc import Mapping

from tracegraph.store.connection import ConnectionSettings
from tracegraph.store.managed.estimate import Load
from tracegraph.store.progress import Progress, silent
from tracegraph.store.storing import store_and_open
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace


def store_run(
    workspace: Workspace,
    settings: ConnectionSettings,
    tables: GraphTables,
    manifest: Mapping[str, object],
    progress: Progress = silent,
    load: Load | None = None,
) -> None:
    """As `store_and_open`, and close it."""
    with store_and_open(workspace, settings, tables, manifest, progress, load):
        pass
