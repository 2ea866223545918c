"""Storing runs of which nothing is asked afterwards."""

from collections.abc import Mapping

from hostile import hostile_graph

from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.rebuild.estimate import Load
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


def store_small_run(workspace: Workspace, name: str) -> None:
    """Store a run of a few nodes in the managed database."""
    tables = hostile_graph(name, list("abcdef"))
    manifest = {"run": name, "created": "1", "sources": [{"sha256": "00"}]}
    store_run(workspace, ConnectionSettings(), tables, manifest)
