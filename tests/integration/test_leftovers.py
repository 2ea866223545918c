"""What killed commands left is gone after any command that uses the database."""

from tracegraph.base.locks import lock
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.session import open_database
from tracegraph.store.workspace import Workspace


def test_any_command_removes_what_nobody_owns(workspace: Workspace) -> None:
    left = [
        workspace.neo4j_home.with_suffix(".new") / "data",
        workspace.root / "spool-1",
        workspace.runs_dir / ".new",
        workspace.runs_dir / ".deleted",
    ]
    for folder in left:
        folder.mkdir(parents=True)
    (workspace.root / "spool-1.lock").touch()
    with lock(workspace.ingest_lock), open_database(workspace, ConnectionSettings()):
        assert [folder.exists() for folder in left] == [False, False, True, True]  # somebody stores a run
    with open_database(workspace, ConnectionSettings()):
        assert not any(folder.exists() for folder in left)


def test_a_run_that_was_being_replaced_is_put_back(workspace: Workspace) -> None:
    old = workspace.runs_dir / ".old"
    old.mkdir()
    (old / "manifest.json").write_text('{"run": "replaced"}')
    with open_database(workspace, ConnectionSettings()):
        assert workspace.manifest("replaced") == {"run": "replaced"}
    workspace.delete_run("replaced")
