"""A managed database that cannot be opened any more, say after a full disk: made anew from the kept runs."""

import shutil
from pathlib import Path

from tracegraph.store.connection import connect
from tracegraph.store.load import ensure_schema
from tracegraph.store.managed import generation, leftovers, server
from tracegraph.store.managed.offline_import import build_home
from tracegraph.store.managed.server import ServerState, UnopenableError
from tracegraph.store.progress import Progress
from tracegraph.store.workspace import Workspace


def start(workspace: Workspace, progress: Progress, *, keep: bool = False) -> ServerState:
    """As `server.start`, and with a database of all kept runs where the old one cannot be opened.

    The old home stays beside as `neo4j.broken`. The caller holds `workspace.server_lock`.

    Raises:
        StoreError: see `server.start`; no run is kept, or somebody else wrote into the database.
    """
    home, broken = workspace.neo4j_home, _aside(workspace)
    if broken.exists() and not home.exists():
        broken.rename(home)  # a kill cut the restoring off
    leftovers.clear_files(workspace)
    try:
        state = server.start(workspace, progress, keep=keep)
    except UnopenableError:
        if not workspace.manifests() or generation.current(home).changed:
            raise
        _restore(workspace, progress)
        state = server.start(workspace, progress, keep=keep)
    if not generation.is_recorded(home) and workspace.manifests():
        # Here, or after a restoring that a kill cut off.
        with connect(server.settings_of(workspace, state)) as database:
            ensure_schema(database, progress)
            generation.commit(home, generation.Generation(bookmark=database.bookmark()))
    return state


def _restore(workspace: Workspace, progress: Progress) -> None:
    home, broken = workspace.neo4j_home, _aside(workspace)
    progress("restoring the database from the kept runs", 0, 0)
    shutil.rmtree(broken, ignore_errors=True)
    home.rename(broken)
    names = [str(manifest["run"]) for manifest in workspace.manifests()]
    try:
        build_home(workspace, (workspace.load_run(name) for name in names), progress)
    except BaseException:
        broken.rename(home)
        raise


def _aside(workspace: Workspace) -> Path:
    return workspace.neo4j_home.with_suffix(".broken")
