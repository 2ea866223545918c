"""Replacing a managed database that cannot be opened any more, from the kept runs."""

import shutil
from pathlib import Path

from tracegraph.base.progress import Progress
from tracegraph.store.connection import connect
from tracegraph.store.load.indexes import ensure_schema
from tracegraph.store.managed.rebuild.offline_import import build_home
from tracegraph.store.managed.server import leftovers, served_database, server
from tracegraph.store.managed.server.server import ServerState, UnopenableError
from tracegraph.store.workspace import Workspace


def start(workspace: Workspace, progress: Progress, *, keep: bool = False) -> ServerState:
    """Start the server as `server.start` does; make its database anew if it cannot be opened.

    The new one holds the kept runs. The old home stays beside it as `neo4j.broken`. The caller holds
    `workspace.server_lock`.

    Raises
    ------
    StoreError
        As in `server.start`; also if no run is kept, or somebody else wrote into the database.
    """
    home, broken = workspace.neo4j_home, _aside(workspace)
    if broken.exists() and not home.exists():
        broken.rename(home)  # a kill cut the restoring off
    leftovers.clear_files(workspace)
    if served_database.is_recorded(home) and not (home / "data").exists():
        make_anew(workspace, progress)  # a kill cut that off
    try:
        state = server.start(workspace, progress, keep=keep)
    except UnopenableError:
        server.stop(workspace)  # if it was begun ahead
        if not workspace.all_manifests() or served_database.current(home).changed:
            raise
        _restore(workspace, progress)
        state = server.start(workspace, progress, keep=keep)
    if not served_database.is_recorded(home) and workspace.all_manifests():
        # The database was made anew just now, or before a kill.
        with connect(server.settings_of(workspace, state)) as database:
            ensure_schema(database, progress)
            served_database.commit(home, served_database.Generation(bookmark=database.bookmark()))
    return state


def make_anew(workspace: Workspace, progress: Progress) -> None:
    """Make the database from the kept runs if the disk has no room for a second one; no server runs.

    The data go first, but the record of the home stays, so that `start` continues here after a kill.
    """
    data, doomed = workspace.neo4j_home / "data", workspace.neo4j_home / "discarded"
    if data.exists():
        shutil.rmtree(doomed, ignore_errors=True)
        data.rename(doomed)  # from half of it a server would make an empty database
    shutil.rmtree(doomed, ignore_errors=True)
    if workspace.all_manifests():
        _build(workspace, progress)
    else:
        leftovers.discard_home(workspace)


def _restore(workspace: Workspace, progress: Progress) -> None:
    home, broken = workspace.neo4j_home, _aside(workspace)
    shutil.rmtree(broken, ignore_errors=True)
    home.rename(broken)
    try:
        _build(workspace, progress)
    except BaseException:
        broken.rename(home)
        raise


def _build(workspace: Workspace, progress: Progress) -> None:
    progress("restoring the database from the kept runs", 0, 0)
    names = [str(manifest["run"]) for manifest in workspace.all_manifests()]
    build_home(workspace, (workspace.load_run(name) for name in names), progress)


def _aside(workspace: Workspace) -> Path:
    return workspace.neo4j_home.with_suffix(".broken")
