"""The run in doubt: database and kept tables may differ, noted on disk while a command changes both."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracegraph.store.connection import Database
from tracegraph.store.workspace import Workspace

_CREATED = "MATCH (r:Run {name: $name, state: 'ready'}) RETURN r.created AS created"


@contextmanager
def changing(workspace: Workspace, name: str) -> Iterator[None]:
    """Note that the run `name` of the managed database is in doubt until the block has ended well.

    The caller holds `workspace.ingest_lock`, and no other run is in doubt. Meanwhile the kept tables that are
    replaced stay in `workspace.old_folder`, for `settle`.
    """
    workspace.note_doubt(name)
    yield
    workspace.clear_doubt()


def settle(workspace: Workspace, database: Database) -> None:
    """Make the kept tables agree with the database about the run in doubt, if there is one.

    A run that is not ready in the database is removed. Of a run that was being replaced, the tables that
    belong to the stored one stay. The caller holds `workspace.ingest_lock`.
    """
    name = workspace.doubted()
    if name is None:
        return
    created = database.read(_CREATED, {"name": name})["created"].tolist()
    if not created:
        workspace.delete_run(name)
    else:
        _put_back(workspace, workspace.run_folder(name), created[0])
    workspace.clear_doubt()


def _put_back(workspace: Workspace, folder: Path, created: object) -> None:
    """Give the old tables their name back if they are the ones whose run is stored."""
    if _created(workspace, folder) != created and _created(workspace, workspace.old_folder) == created:
        workspace.discard(folder)
        workspace.old_folder.rename(folder)


def _created(workspace: Workspace, folder: Path) -> object:
    return (workspace.read_manifest(folder) or {}).get("created")
