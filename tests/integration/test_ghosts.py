"""Storing or deleting stops between the database and the kept tables: then the run is there for all, or none.

The kills at every step are in tests/crash, and one that is tried always in test_killed_ingest; here are the
moments that left ghosts.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import hostile_graph
from storing_runs import store_run

from tracegraph.base.errors import InputError
from tracegraph.store import storing
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.rebuild.estimate import Load
from tracegraph.store.managed.server import served_database
from tracegraph.store.session import open_database, stop_server
from tracegraph.store.workspace import Workspace, open_workspace
from tracegraph.workbench.bench import Workbench

pytestmark = pytest.mark.exhaustive
MANAGED = ConnectionSettings()
READY = "MATCH (r:Run {state: 'ready'}) RETURN r.name AS name"


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


def killed(*_: object) -> None:
    raise Killed


def store_again(workspace: Workspace, name: str, created: str, load: Load | None) -> None:
    tables = hostile_graph(name, list("abcdef"))
    run = tables.nodes["Run"]
    run = run.set_column(run.column_names.index("created"), "created", [[created]])
    manifest = {"run": name, "created": created, "sources": [{"sha256": "00"}]}
    store_run(workspace, MANAGED, tables.with_nodes("Run", run), manifest, load=load)


@pytest.fixture
def own(tmp_path: Path) -> Workspace:
    workspace = open_workspace(tmp_path)
    store_again(workspace, "first", "1", None)
    return workspace


def check_alike(workspace: Workspace) -> set[str]:
    """What-if, the folders and the database know the same runs; gives their names."""
    bench, offered = Workbench(workspace, MANAGED), set()
    for name in ("first", "second"):
        try:
            offered.add(bench.kept_run(name).name)
        except InputError:
            continue
    with open_database(workspace, MANAGED) as database:
        visible = set(database.read(READY)["name"])
    stop_server(workspace)
    assert offered == visible == {folder.name for folder in workspace.runs_dir.iterdir()}
    return visible


@pytest.mark.parametrize("load", ["bolt", "bulk"])
def test_killed_between_keeping_and_showing(
    load: Load, own: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(storing, "make_ready", killed)
        with pytest.raises(Killed):
            store_again(own, "second", "2", load)
    assert (own.runs_dir / "second").is_dir()
    assert check_alike(own) == {"first"}


def delete_first(workspace: Workspace) -> None:
    Workbench(workspace, MANAGED).delete("first")


def delete_killed_in_the_database(workspace: Workspace, patch: pytest.MonkeyPatch) -> None:
    def half(database: object, name: str) -> None:
        database.write("MATCH (r:Run {name: $name}) SET r.state = 'loading'", {"name": name})  # type: ignore[attr-defined]
        raise Killed

    patch.setattr(storing, "delete_run", half)
    delete_first(workspace)


def delete_killed_among_the_tables(workspace: Workspace, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Workspace, "delete_run", killed)
    delete_first(workspace)


@pytest.mark.parametrize("delete", [delete_killed_in_the_database, delete_killed_among_the_tables])
def test_killed_in_a_deletion(
    delete: Callable[[Workspace, pytest.MonkeyPatch], None], own: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(Killed):
        delete(own, patch)
    assert (own.runs_dir / "first").is_dir()
    assert check_alike(own) == set()


def test_a_rebuild_that_replaces_a_run_is_killed_before_its_last_step(
    own: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(served_database, "commit", killed)
        with pytest.raises(Killed):
            store_again(own, "first", "2", "bulk")
    assert own.read_manifest(own.run_folder("first"))["created"] == "2"  # type: ignore[index]
    assert check_alike(own) == {"first"}
    kept, manifest = own.load_run("first"), own.manifest("first")
    with open_database(own, MANAGED) as database:
        created = database.read("MATCH (r:Run) RETURN r.created AS created")["created"].tolist()
    stop_server(own)
    assert created == kept.nodes["Run"]["created"].to_pylist()
    assert manifest is not None
    assert manifest["created"] == "1"
