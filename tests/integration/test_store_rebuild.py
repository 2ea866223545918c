"""Adding a run by a rebuild: every run is in the new database, the old one serves until all is done."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from export import from_database, from_tables
from hostile import hostile_graph
from storing_runs import store_run

from tracegraph.base.errors import InputError, StoreError
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.rebuild.estimate import Load
from tracegraph.store.managed.server import served_database
from tracegraph.store.session import find_server, open_database, start_server, stop_server
from tracegraph.store.storing import store_and_open
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace, open_workspace

pytestmark = pytest.mark.exhaustive
MANAGED = ConnectionSettings()


def small(run: str) -> GraphTables:
    return hostile_graph(run, list("abcdef"))


def manifest(run: str, **more: object) -> dict[str, object]:
    return {"run": run, "created": "2026-01-01", "sources": [{"sha256": "00"}], **more}


def add(workspace: Workspace, run: str, load: Load | None = "bulk") -> None:
    store_run(workspace, MANAGED, small(run), manifest(run), load=load)


def databases(workspace: Workspace) -> set[str]:
    return {path.name for path in (workspace.neo4j_home / "data" / "databases").iterdir() if path.is_dir()}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace with the run `first` and a server that stays up; its name would break import arguments."""
    workspace = open_workspace(tmp_path_factory.mktemp("rebuild") / "a=b, c")
    start_server(workspace)
    add(workspace, "first", "bolt")
    yield workspace
    stop_server(workspace)


def test_a_rebuild_holds_every_run_and_can_be_repeated(own: Workspace) -> None:
    hostile = hostile_graph("hostile")
    for served in ("rebuilt", "neo4j"):
        with store_and_open(own, MANAGED, hostile, manifest("hostile"), load="bulk") as database:
            assert from_database(database, "hostile") == from_tables(hostile)
            assert from_database(database, "first") == from_tables(small("first"))
            assert database.settings.database == served
            indexes = database.read("SHOW INDEXES YIELD name, state WHERE name STARTS WITH 'tracegraph'")
        assert len(indexes) > 1
        assert set(indexes["state"]) == {"ONLINE"}
        assert databases(own) == {"system", served}
        state = find_server(own)
        assert state is not None
        assert state.keep


@pytest.mark.parametrize("damage", ["absent", "newer", "unreadable"])
def test_a_run_that_cannot_be_rebuilt_stays(damage: str, own: Workspace, tmp_path: Path) -> None:
    folder, copy = own.run_folder("first"), tmp_path / "copy"
    shutil.copytree(folder, copy)
    if damage == "absent":
        shutil.rmtree(folder)
    elif damage == "newer":
        (folder / "manifest.json").write_text(json.dumps(manifest("first", schema_version=99)))
    else:
        (folder / "nodes.Event.parquet").write_bytes(b"PAR1")
    words = {"absent": "keep the tables", "newer": "version 99, newer", "unreadable": "cannot be read"}
    with pytest.raises(StoreError, match=words[damage]):
        add(own, "second")
    shutil.rmtree(folder, ignore_errors=True)
    copy.rename(folder)
    check_untouched(own)


@pytest.mark.parametrize("stage", ["writing import files", "importing into Neo4j", "building indexes"])
def test_a_broken_rebuild_leaves_the_old_database(stage: str, own: Workspace) -> None:
    def fail(text: str, done: int, total: int) -> None:
        if text == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store_run(own, MANAGED, small("second"), manifest("second"), fail, "bulk")
    check_untouched(own)


def check_untouched(workspace: Workspace) -> None:
    """The server that was started to stay serves the old database, or does so soon, and nothing is new."""
    state = find_server(workspace)
    assert state is not None
    assert (state.keep, state.database) == (True, "neo4j")
    with open_database(workspace, MANAGED) as database:
        assert from_database(database, "first") == from_tables(small("first"))
        stored = database.read("MATCH (r:Run) RETURN r.name AS name ORDER BY name")["name"].tolist()
        assert stored == sorted(str(one["run"]) for one in workspace.manifests())
        assert "second" not in stored
    assert workspace.manifest("second") is None
    assert served_database.current(workspace.neo4j_home).database == "neo4j"


def test_another_users_changes_are_never_dropped(own: Workspace) -> None:
    with open_database(own, MANAGED) as database:
        assert not served_database.is_changed(own.neo4j_home, database)
        database.write("MATCH (r:Run) SET r.note = 'mine'")
    for _ in range(2):  # also after tracegraph wrote into it itself
        with pytest.raises(StoreError, match=r"changes of your own.*--load bolt"):
            add(own, "second")
        add(own, "second", None)
    with open_database(own, MANAGED) as database:
        assert database.read("MATCH (r:Run {note: 'mine'}) RETURN r.name")["r.name"].tolist()


def test_an_external_server_takes_no_import(own: Workspace) -> None:
    with pytest.raises(InputError, match="managed server"):
        store_run(own, ConnectionSettings("bolt://127.0.0.1:9"), small("x"), manifest("x"), load="bulk")
