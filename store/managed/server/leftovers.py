"""Removal of what killed commands left behind, once nobody owns it."""

import shutil
from collections.abc import Sequence

from tracegraph.base.locks import try_lock
from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection import Database
from tracegraph.store.load.delete_run import delete_half_loaded
from tracegraph.store.load.indexes import begin_indexes, lacking
from tracegraph.store.managed.rebuild.import_files import FOLDER
from tracegraph.store.managed.server import served_database, server
from tracegraph.store.run_in_doubt import settle
from tracegraph.store.schema.properties import Need
from tracegraph.store.workspace import Workspace


def clear_files(workspace: Workspace) -> None:
    """Remove files of imports and of stored runs that no process is making any more, and end their Java.

    The caller holds `workspace.server_lock`, without which nobody makes a new home.
    """
    unfinished, home = workspace.neo4j_home.with_suffix(".new"), workspace.neo4j_home
    if unfinished.exists():
        server.end_imports(unfinished)
        shutil.rmtree(unfinished, ignore_errors=True)
    workspace.clear_spools()
    with try_lock(workspace.ingest_lock) as is_left:
        if not is_left:
            return
        workspace.clear_unfinished()
        if (home / FOLDER).exists():
            server.end_imports(home)
            shutil.rmtree(home / FOLDER, ignore_errors=True)
        serving = server.running(workspace)
        if serving is None or serving.database != served_database.unserved(home):
            served_database.discard_unserved(home)


def discard_home(workspace: Workspace) -> None:
    """Remove the server home, which nobody uses, so that a kill never leaves a part of it."""
    doomed = workspace.neo4j_home.with_suffix(".new")
    shutil.rmtree(doomed, ignore_errors=True)
    workspace.neo4j_home.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def clear_half_stored(workspace: Workspace, database: Database, progress: Progress) -> None:
    """Do what `settle_all` does if no process is storing a run."""
    if _may_be_half_stored(workspace):
        with try_lock(workspace.ingest_lock) as is_left:
            if is_left:
                settle_all(workspace, database, progress)


def settle_all(workspace: Workspace, database: Database, progress: Progress = silent) -> None:
    """Delete what a killed command stored by half, from the managed database and the kept tables.

    The caller holds `workspace.ingest_lock`.
    """
    if _may_be_half_stored(workspace):
        with served_database.own_writes(workspace.neo4j_home, database):
            delete_half_loaded(database, progress)
        settle(workspace, database)


def build_missing_indexes(workspace: Workspace, database: Database) -> None:
    """Begin the indexes that a first screen does without, if the database lacks them.

    A command that stores a large run does so after its first screen; if it was killed, the next command does.
    """
    begin_missing_indexes(workspace, database, lacking(database))


def begin_missing_indexes(workspace: Workspace, database: Database, needed: Sequence[Need]) -> None:
    """Begin those indexes; while another process stores a run, only those that questions need most."""
    if not needed:
        return
    with try_lock(workspace.ingest_lock) as is_free:
        if is_free:
            with served_database.own_writes(workspace.neo4j_home, database):
                begin_indexes(database, *needed)
        elif "path" in needed:
            begin_indexes(database, "path")


def _may_be_half_stored(workspace: Workspace) -> bool:
    return served_database.current(workspace.neo4j_home).bookmark is None or workspace.doubted() is not None
